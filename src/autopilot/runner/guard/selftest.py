"""Proves before a launch that the hook's own command refuses and allows: a wrong answer is no guard.

Must not start anything: whoever asks knows how the agent would start the hook.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autopilot.config.proc import Exit

DENIED = "git push origin HEAD"
ACCEPTED = "git status"


def client_command(socket_path: str, client: Path | None = None) -> tuple[str, ...]:
    """Give the hook's command.

    Args:
        socket_path: the guard's socket, as the hook sees it.
        client: where the client lies, as the hook sees it; None: in this installation.
    """
    file = client or resources.files("autopilot.runner.guard") / "client.py"
    return (sys.executable, "-I", "-S", str(file), socket_path)


def fault_of(ask: Callable[[bytes], Exit], *, cwd: Path) -> str | None:
    """Send a known-bad and a known-good event through the hook's command; None when both answers are right.

    Args:
        ask: hands one event to the hook's command where the agent will start it, and gives how that ended.
        cwd: a folder of the worktree.
    """
    for line, wanted in ((DENIED, 2), (ACCEPTED, 0)):
        event = {
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": line},
            "cwd": str(cwd),
        }
        ended = ask(json.dumps(event).encode())
        if ended.stopped or ended.code != wanted:
            told = ended.spawn_error or ended.stopped or f"it ended with {ended.code}, not {wanted}"
            return f"the guard's hook answers {line!r} wrongly: {told}"
    return None
