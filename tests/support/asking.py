"""Asks a guard as an agent's hook does, by its command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from autopilot.runner.guard.selftest import client_command


def event(tool: str, cwd: Path, **given: object) -> bytes:
    return json.dumps(
        {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "cwd": str(cwd)}
    ).encode()


def ask(place: Path, question: bytes, *seconds: str) -> subprocess.CompletedProcess[bytes]:
    command = [*client_command(str(place)), *seconds]
    return subprocess.run(command, input=question, capture_output=True, check=False, env={})
