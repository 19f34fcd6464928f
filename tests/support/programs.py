"""Runs a program through the product's process funnel, with the options a test does not care for."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from autopilot.config import proc
from autopilot.config.clock import SystemClock

PYTHON: Final = (sys.executable, "-I", "-S", "-c")
PYTHON_WORD: Final = shlex.quote(sys.executable)
"""This Python as a word of a shell's line: a checkout may lie below a folder with a blank in its name."""
CLOCK: Final = SystemClock()


def write_named(path: Path, source: str) -> None:
    """Write a Python program that is started by its name, by this Python wherever that lies.

    The kernel takes no interpreter with a blank in its path. To a shell the second line starts Python; to
    Python it is a text. Source: execve(2), "Interpreter scripts".
    """
    head = f"''':'\nexec {PYTHON_WORD} -I \"$0\" \"$@\"\n'''"
    path.write_text(f"#!/bin/sh\n{head}\n{source}", encoding="utf-8")
    path.chmod(0o755)


def start(
    argv: tuple[str, ...],
    folder: Path,
    *,
    env: Mapping[str, str] | None = None,
    wall_s: float = 30,
    **more: Any,  # noqa: ANN401  handed on as they are
) -> proc.Exit:
    """Run it in a folder; its output goes to `out` there. `more` goes on to `proc.run`."""
    options: dict[str, object] = {
        "output": folder / "out",
        "cwd": folder,
        "clock": CLOCK,
        "grace_s": 5.0,
        **more,
    }
    return proc.run(argv, env={"PATH": os.defpath} if env is None else env, wall_s=wall_s, **options)  # type: ignore[arg-type]
