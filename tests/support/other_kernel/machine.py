"""A kernel of its own for what this one may lack: control groups of version 2 with all their controllers.

User Mode Linux is a whole Linux that runs as a program: no emulation, and nothing of the machine around is
changed. In it a real systemd, its user's manager, and `scenes.py`, which writes down what it saw.
Source: the kernel's Documentation/virt/uml; Debian's package user-mode-linux.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from tests.support.init_system import GID, NAME, NEEDED, UID
from tests.support.tree import ROOT

_KERNEL = "linux.uml"
_BOOT = Path(__file__).with_name("boot.sh")
_PATIENCE_S = 1800.0
_AS_ROOT = () if os.geteuid() == 0 else ("sudo", "--non-interactive")


def facts() -> Any:  # noqa: ANN401 - a document
    """Boot it, let the scenes play, and give what they wrote."""
    folder = Path(tempfile.mkdtemp(prefix="autopilot-kernel-", dir="/var/tmp"))
    try:
        said = _boot(folder)
        told = folder / "facts.json"
        if not told.exists():
            pytest.fail(f"the scenes came to no end: {said}\n{_text(folder / 'said')}", pytrace=False)
        return {**json.loads(told.read_text()), "said": f"{said}\n{_text(folder / 'said')}"}
    finally:
        subprocess.run([*_AS_ROOT, "rm", "-rf", str(folder)], check=False)


def _boot(folder: Path) -> str:
    kernel = shutil.which(_KERNEL)
    assert kernel is not None
    argv = [kernel, "mem=1024M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"]
    argv += ["init=/bin/bash", "con=null", "con0=null,fd:1", f"uml_dir={folder}"]
    argv += ["--", *map(str, (_BOOT, ROOT, sys.executable, folder, f"{UID}:{GID}", NAME, *NEEDED))]
    proc.run(
        (*_AS_ROOT, *argv),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        output=folder / "console",
        clock=SystemClock(),
        wall_s=_PATIENCE_S,
        grace_s=1.0,
    )
    return _text(folder / "console")[-3000:]


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""
