"""Programs run in a sandbox, as the runner's door does it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from autopilot.config.clock import SystemClock
from autopilot.config.proc import Exit
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.bubblewrap import Bubblewrap
from autopilot.runner.sandbox.confinement import Confinement, Sandbox
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.sandbox.landlock import Landlock
from autopilot.runner.sandbox.none import NoSandbox
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxKind, SandboxSpec


def sandbox_of(kind: SandboxKind, bounds: Bounds | None = None) -> Sandbox:
    """Open a sandbox of a kind, perhaps with other bounds."""
    chosen = open_sandbox(SandboxSpec(kind=kind), SystemClock())
    chosen.check()
    assert isinstance(chosen, Bubblewrap | Landlock | NoSandbox)
    return replace(chosen, bounds=bounds) if bounds is not None else chosen


def locked_up(folder: Path, argv: tuple[str, ...], sandbox: Sandbox, **rules: Any) -> Exit:  # noqa: ANN401
    """Run a program whose home and folder this is."""
    folder.mkdir(exist_ok=True)
    return run_inside(
        sandbox,
        Confinement(cwd=folder, home=folder, writable=(folder,)),
        argv,
        **{
            "env": {"PATH": os.defpath, "HOME": str(folder)},
            "output": folder.with_name(f"{folder.name}.log"),
            "clock": SystemClock(),
            "wall_s": 60.0,
            "grace_s": 2.0,
            **rules,
        },
    )


def python(code: str) -> tuple[str, ...]:
    """A Python program without our modules in reach."""
    return (sys.executable, "-I", "-S", "-c", code)
