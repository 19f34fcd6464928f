"""A real key ring: gnome-keyring on a session bus of its own, unlocked, for one Python program."""

from __future__ import annotations

import os
from pathlib import Path

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from tests.support.programs import PYTHON_WORD
from tests.support.tree import ROOT

# The daemon must be the first on its bus that is asked for secrets, or a locked one is started.
_SCRIPT = (
    "printf pw | gnome-keyring-daemon --unlock --components=secrets --daemonize >/dev/null 2>&1; "
    f"exec {PYTHON_WORD} ask.py"
)


def said_in_a_session(folder: Path, program: str) -> str:
    """Give what the program prints; the folder is its home, and ours.

    Raises:
        AssertionError: it did not end well.
    """
    (folder / "ask.py").write_text(program)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "AUTOPILOT_HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_RUNTIME_DIR": str(folder),
        "PYTHONPATH": str(ROOT / "src"),
    }
    ended = proc.run(
        ["dbus-run-session", "--", "sh", "-c", _SCRIPT],
        cwd=folder,
        env=env,
        output=folder / "out",
        stderr=folder / "err",
        clock=SystemClock(),
        wall_s=60,
        grace_s=1,
    )
    assert ended.ok, ended.stderr_tail.decode()
    return ended.tail.decode()
