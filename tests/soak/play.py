"""One demonstration from outside: how it ended, how long it took, what it left running."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.support.processes import of_home
from tests.support.tree import ROOT

LIMIT_S = 180


class Play(NamedTuple):
    """What was seen of one demonstration."""

    exit_code: int
    seconds: float
    left_running: tuple[str, ...]
    output: str

    @property
    def is_good(self) -> bool:
        """Whether it ended as it should and left nothing running."""
        return self.exit_code == 0 and not self.left_running


def play(home: Path) -> Play:
    """Run `autopilot demo` in this folder to its end."""
    started_s = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "autopilot.daemon.cli", "demo", "--home", str(home)],
        cwd=home.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    return Play(done.returncode, time.monotonic() - started_s, left_running(home), done.stdout)


def left_running(home: Path) -> tuple[str, ...]:
    """Processes that work in this folder, or were told of it."""
    return tuple(f"{one.pid} {' '.join(one.info['cmdline'] or ())}" for one in of_home(home))


def summary(plays: list[Play]) -> str:
    """The closing line."""
    bad = sum(not one.is_good for one in plays)
    times_s = sorted(one.seconds for one in plays)
    median_s = times_s[len(times_s) // 2]
    return f"{len(plays) - bad} passed, {bad} failed; median {median_s:.1f} s, slowest {times_s[-1]:.1f} s"
