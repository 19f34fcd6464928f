"""Reads the event that a coding agent's hook hands over.

Must not guess: an event of another shape is refused. Source: Claude Code hooks, PreToolUse input.
"""

from __future__ import annotations

import json

from autopilot.runner.guard.verdict import GuardRequest, Refused

_START = "SessionStart"


def is_start(event: bytes) -> bool:
    """Tell whether it is the event of a session's start, which uses no tool: it only asks who is there."""
    try:
        fields = json.loads(event)
    except (ValueError, RecursionError):
        return False
    return isinstance(fields, dict) and fields.get("hook_event_name") == _START and "tool_name" not in fields


def request_of(event: bytes, written: frozenset[str]) -> GuardRequest:
    """Make a request of the JSON of a hook.

    Raises:
        Refused: it is not the event of one use of a tool.
    """
    try:
        fields = json.loads(event)
    except (ValueError, RecursionError) as exc:
        raise Refused("event", "the event is no JSON") from exc
    if not isinstance(fields, dict):
        raise Refused("event", "the event is no object")
    tool, given, cwd = fields.get("tool_name"), fields.get("tool_input"), fields.get("cwd")
    if not isinstance(tool, str) or not isinstance(given, dict) or not isinstance(cwd, str | None):
        raise Refused("event", "the event names no tool with its input")
    return GuardRequest(tool, given, cwd, written)
