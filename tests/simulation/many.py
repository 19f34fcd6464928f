"""Many seeds in several processes, each of which plays a stretch at a time."""

from __future__ import annotations

import atexit
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

from tests.support import template

ROOT = Path(__file__).resolve().parents[2]
_LONGEST_STRETCH = 200
_SUMMARY = re.compile(r"^(\d+) seeds, (\d+) broken; (\d+) ticks, (\d+) ms of CPU$", re.MULTILINE)
_NOT_PASSED = ("COV", "PYTEST", "PYTHONDONTWRITEBYTECODE")
"""The last: to compile our modules anew takes as long as four seeds, in every process."""


def span(text: str) -> range:
    """Read `3-17`, or `17` for the first so many."""
    first, dash, last = text.partition("-")
    return range(int(first), int(last) + 1) if dash else range(1, int(first) + 1)


def start(*arguments: str, hash_seed: str = "random") -> subprocess.CompletedProcess[str]:
    """Run the simulation in a process of its own, which no coverage follows."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED)}
    env |= {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTHONHASHSEED": hash_seed}
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", "--queue", str(_new_queue()), *arguments],
        cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


@cache
def _new_queue() -> Path:
    """Lay the file of a new queue aside, or each process would make one: a sixth of its start."""
    folder = tempfile.TemporaryDirectory(prefix="simulation-")
    atexit.register(folder.cleanup)
    queue = Path(folder.name) / "new.db"
    queue.write_bytes(template.pages())
    return queue


def play_all(seeds: range, jobs: int, words: Sequence[str] = ()) -> int:
    """Play every seed, print each that is broken at once and a summary at the end; 1 when any was.

    Args:
        seeds: which.
        jobs: processes at once.
        words: what is played, as given to each process.
    """
    started_s = time.monotonic()
    size = min(_LONGEST_STRETCH, math.ceil(len(seeds) / jobs))
    stretches = [seeds[first : first + size] for first in range(0, len(seeds), size)]
    played, bad, ticks, spent_ms = 0, 0, 0, 0
    _new_queue()  # before there are several threads: Alembic works in one at a time
    with ThreadPoolExecutor(jobs) as pool:
        for output in pool.map(partial(_stretch, words=words), stretches):
            numbers = _SUMMARY.search(output)
            if numbers is None:
                print(output)
                bad += 1
                continue
            print(output[: numbers.start()], end="")
            sums = [int(number) for number in numbers.groups()]
            played, bad, ticks, spent_ms = (
                a + b for a, b in zip((played, bad, ticks, spent_ms), sums, strict=True)
            )
            _tell_progress(played, len(seeds), bad, started_s)
    print(f"{played} seeds, {bad} broken; {ticks} ticks, {spent_ms} ms of CPU")
    return int(bad > 0)


def _stretch(seeds: Sequence[int], *, words: Sequence[str]) -> str:
    return start("--seeds", f"{seeds[0]}-{seeds[-1]}", *words).stdout


def _tell_progress(played: int, wanted: int, bad: int, started_s: float) -> None:
    minutes = (time.monotonic() - started_s) / 60
    sys.stderr.write(f"{played} of {wanted} seeds, {bad} broken, {minutes:.1f} min\n")
