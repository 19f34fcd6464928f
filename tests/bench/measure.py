"""What a row of the bench is, and how two things are timed against each other fairly."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple


class Sample(NamedTuple):
    """Median times of what we built and of the yardstick, in seconds."""

    ours_s: float
    yardstick_s: float
    rounds: int

    @property
    def ratio(self) -> float:
        """How many times the yardstick ours takes."""
        return self.ours_s / self.yardstick_s


class Row(NamedTuple):
    """One thing that must not get slow: `ours` against `yardstick`, at most `bar` times."""

    name: str
    ours: str
    yardstick: str
    bar: float
    measure: Callable[[int], Sample]


def interleaved(ours: Callable[[], object], yardstick: Callable[[], object], rounds: int) -> Sample:
    """Time both in turns, so that what else the machine does falls on both alike.

    One round of each goes first, unmeasured, to warm the caches of disk and bytecode.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for round_ in range(-1, rounds):
        for action, spent in zip((ours, yardstick), times, strict=True):
            start = time.perf_counter()
            action()
            if round_ >= 0:
                spent.append(time.perf_counter() - start)
    return Sample(statistics.median(times[0]), statistics.median(times[1]), rounds)


def command(words: Sequence[str], *, environment: dict[str, str], cwd: Path) -> Callable[[], object]:
    """An action that runs a program to its end and insists that it ends well."""

    def run() -> object:
        return subprocess.run(words, env=environment, cwd=cwd, check=True, capture_output=True)

    return run
