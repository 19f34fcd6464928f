"""Proves before a launch that the hook's own command refuses and allows: a wrong answer is no guard.

Must not start anything but the client.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.config import proc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock

DENIED = "git push origin HEAD"
ACCEPTED = "git status"
_WALL_S = 20.0


def client_command(socket_path: str, client: Path | None = None) -> tuple[str, ...]:
    """Give the hook's command.

    Args:
        socket_path: the guard's socket, as the hook sees it.
        client: where the client lies, as the hook sees it; None: in this installation.
    """
    file = client or resources.files("autopilot.runner.guard") / "client.py"
    return (sys.executable, "-I", "-S", str(file), socket_path)


def fault_of(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], scratch: Path, clock: Clock
) -> str | None:
    """Send a known-bad and a known-good event through the hook's command; None when both answers are right.

    Args:
        command: the whole command of the hook, with whatever wraps it.
        cwd: a folder of the worktree.
        env: the environment of the hook.
        scratch: a folder of ours for what it prints.
        clock: for its time limit.
    """
    for line, wanted in ((DENIED, 2), (ACCEPTED, 0)):
        event = {
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": line},
            "cwd": str(cwd),
        }
        ended = proc.run(
            command,
            cwd=cwd,
            env=env,
            output=scratch / "guard-selftest.log",
            clock=clock,
            wall_s=_WALL_S,
            stdin=json.dumps(event).encode(),
        )
        if ended.stopped or ended.code != wanted:
            told = ended.spawn_error or ended.stopped or f"it ended with {ended.code}, not {wanted}"
            return f"the guard's hook answers {line!r} wrongly: {told}"
    return None
