"""Reads the event that a coding agent's hook hands over.

Must not guess: an event of another shape is refused.
Source: Claude Code hooks, PreToolUse input; Gemini CLI hooks, BeforeTool;
Copilot CLI hooks, preToolUse.
"""

from __future__ import annotations

import json

from autopilot.runner.guard.dialect import translated
from autopilot.runner.guard.verdict import GuardRequest, Refused

_START = "SessionStart"
MAX_ID_CHARS = 200
_USUAL, _COPILOT = ("tool_name", "tool_input", "cwd"), ("toolName", "toolArgs", "cwd")


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
    names = _COPILOT if "tool_name" not in fields else _USUAL
    tool, given, cwd = (fields.get(name) for name in names)
    if not isinstance(tool, str) or not isinstance(given, dict) or not isinstance(cwd, str | None):
        raise Refused("event", "the event names no tool with its input")
    use_id = fields.get("tool_use_id")
    tool, given = translated(tool, given)
    return GuardRequest(tool, given, cwd, written, use_id[:MAX_ID_CHARS] if isinstance(use_id, str) else "")
