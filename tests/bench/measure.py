"""What a row of the bench is, how much of it is measured, and how two things are timed fairly."""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

FEW_ROUNDS = 3
"""Of what takes long: enough for a median and a spread."""


class Scale(NamedTuple):
    """How much is measured: what the bars are about, a quick look, or only that everything still runs."""

    name: str
    rounds: int
    many: int
    """Tickets in a large queue."""
    work: int
    """Tickets that are claimed in one round, or handed out in a storm."""
    processes: int
    kills: int
    samples: int
    """Measurements of one latency."""
    idle_s: float
    ticks: int
    files: int
    """Files in a repository."""
    stream_mib: int

    @property
    def few(self) -> int:
        """Rounds of what takes long."""
        return min(FEW_ROUNDS, self.rounds)


FULL = Scale("full", 15, 1_000_000, 20, 16, 120, 300, 60.0, 10_000, 5000, 8)
QUICK = Scale("quick", 7, 100_000, 10, 16, 40, 100, 20.0, 2000, 2000, 4)
SMOKE = Scale("smoke", 1, 2000, 2, 3, 3, 5, 0.2, 30, 30, 1)


class Row(NamedTuple):
    """One thing that must not get worse: its value is at most `bar`; without a bar it only informs."""

    name: str
    ours: str
    yardstick: str
    unit: str
    """`x` for a ratio, else the unit of an amount."""
    bar: float | None
    judged: Literal["median", "worst"] = "median"
    """By the usual round, or by the worst, where a single one is one too many."""


class Finding(NamedTuple):
    """What was measured for a row: one value for each round, and what else is worth knowing."""

    row: str
    values: tuple[float, ...]
    notes: Mapping[str, float] = {}

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def worst(self) -> float:
        """The highest."""
        return max(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles: half of the rounds lie between them."""
        if len(self.values) == 1:
            return self.values[0], self.values[0]
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high


class Bench(NamedTuple):
    """Rows that are measured together, because they share what is dear to set up."""

    rows: tuple[Row, ...]
    measure: Callable[[Scale], Iterable[Finding]]


class Spent(NamedTuple):
    """What one action took: on the clock on the wall, and of processors, children included."""

    wall_s: float
    cpu_s: float


def spent_on(action: Callable[[], object]) -> Spent:
    """Time one action."""
    cpu_s, start_s = _cpu_s(), time.perf_counter()
    action()
    return Spent(time.perf_counter() - start_s, _cpu_s() - cpu_s)


def _cpu_s() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def interleaved(actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[Spent]]:
    """Time all in turns, so that what else the machine does falls on all alike.

    Another one begins each round: who writes first to a busy disk also waits for what others left unwritten.
    One round goes first, unmeasured, to warm the caches of disk and bytecode.
    """
    spent: dict[str, list[Spent]] = {name: [] for name in actions}
    for round_ in range(-1, rounds):
        for name in turn(list(actions), round_):
            took = spent_on(actions[name])
            if round_ >= 0:
                spent[name].append(took)
    return spent


def turn(names: list[str], round_: int) -> list[str]:
    """Give the order of one round: each begins in its turn."""
    first = round_ % len(names)
    return [*names[first:], *names[:first]]


def ratio(row: str, ours: Sequence[Spent], yardstick: Sequence[Spent]) -> Finding:
    """Compare round by round; the notes hold the medians, in ms, and the ratio of processor time."""
    cpu_s = [statistics.median(spent.cpu_s for spent in side) for side in (ours, yardstick)]
    notes = {
        "ours_ms": 1000 * statistics.median(spent.wall_s for spent in ours),
        "yardstick_ms": 1000 * statistics.median(spent.wall_s for spent in yardstick),
    }
    if cpu_s[1] > 0:
        notes["cpu_ratio"] = cpu_s[0] / cpu_s[1]
    values = (one.wall_s / other.wall_s for one, other in zip(ours, yardstick, strict=True))
    return Finding(row, tuple(values), notes)


def command(words: Sequence[str], *, environment: Mapping[str, str], cwd: Path) -> Callable[[], object]:
    """An action that runs a program to its end and insists that it ends well."""

    def run() -> object:
        return subprocess.run(words, env=environment, cwd=cwd, check=True, capture_output=True)

    return run
