"""Many scripted runs through one real daemon: what it holds in memory and on the disk, over time.

The daemon's own settings but for limits that end a night; an agent that prints a megabyte each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from autopilot.config.removal import sizes
from tests.support.house import House
from tests.support.wait import wait_until

KIB = 1024
MAY_GROW_KIB = 20 * KIB
"""How much more memory a daemon may hold after its warm-up; DMN-050 names the number."""
AT_ONCE = 2
LIMIT_S = 600.0
QUIET = """
max_open_drafts = 0
max_parallel_agents = 2
per_repo_parallel = 2
cost_ceiling_usd = 100000
"""
FLOOD = {"flood": {"bytes": 1_000_000}}


class Sample(NamedTuple):
    """One look at a daemon at rest."""

    runs: int
    memory_kib: int
    descriptors: int
    threads: int
    children: int
    database_kib: int
    folders_kib: dict[str, int]
    dirty_kib: int = 0
    """Of the memory, what is its own and was written to: no file that is mapped, no page of a library."""
    pss_kib: int = 0
    """Its memory with what others share divided among them; both are 0 where the system does not tell."""

    def line(self) -> str:
        """As it is printed."""
        folders = "  ".join(f"{name} {size}" for name, size in self.folders_kib.items())
        return (
            f"{self.runs:>6} runs  memory {self.memory_kib} KiB, dirty {self.dirty_kib}, pss {self.pss_kib}"
            f"  descriptors {self.descriptors}"
            f"  threads {self.threads}  children {self.children}  database {self.database_kib}  {folders}"
        )


def soak(folder: Path, *, runs: int, every: int) -> Iterator[Sample]:
    """Bring so many tickets to their drafts, two at a time, and look at the daemon every so many.

    Raises:
        AssertionError: a ticket did not become a draft, or the house is not in order at the end.
    """
    house = House(folder, settings=QUIET)
    house.add_agent("loud", [FLOOD, *house.mend()])
    try:
        house.begin()
        for done in range(0, runs, every):
            wanted = min(every, runs - done)
            for first in range(0, wanted, AT_ONCE):
                _publish(house, min(AT_ONCE, wanted - first))
            yield look(house, done + wanted)
        house.assert_in_order()
        assert len(house.pull_requests()) == runs
    finally:
        house.clean_up()


def _publish(house: House, tickets: int) -> None:
    for name in [house.add(agent="loud") for _ in range(tickets)]:
        house.daemon.wait_for_state(name, "published", timeout_s=LIMIT_S)


def look(house: House, runs: int) -> Sample:
    """Look at the daemon once nothing that it started is left."""
    assert house.daemon.process is not None
    process = psutil.Process(house.daemon.process.pid)
    wait_until(lambda: not process.children(recursive=True), LIMIT_S, "every child has ended")
    paths = house.paths
    places = {
        "runs": paths.runs,
        "worktrees": paths.worktrees,
        "salvage": paths.salvage,
        "mirrors": paths.mirrors,
        "logs": paths.logs,
    }
    database = paths.database
    with_log = [database, database.with_name(f"{database.name}-wal")]
    parts = memory_parts(process.pid)
    return Sample(
        runs=runs,
        memory_kib=process.memory_info().rss // KIB,
        descriptors=process.num_fds(),
        threads=process.num_threads(),
        children=len(process.children(recursive=True)),
        database_kib=sum(file.stat().st_size for file in with_log if file.exists()) // KIB,
        folders_kib={name: sizes(place)[0] // KIB for name, place in places.items()},
        dirty_kib=parts.get("Private_Dirty", 0),
        pss_kib=parts.get("Pss", 0),
    )


def memory_parts(pid: int) -> dict[str, int]:
    """Give what a process's memory consists of, in KiB; nothing where the system does not tell.

    Source: proc_pid_smaps(5).
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    except FileNotFoundError:
        return {}
    words = (line.split() for line in lines)
    return {name.removesuffix(":"): int(size) for name, size, *_ in words}


def faults(samples: list[Sample]) -> list[str]:
    """Say what grew after the first look, which is the warm-up, though nothing was running."""
    if len(samples) < 2:
        return []
    first, last = samples[0], samples[-1]
    found = []
    if last.memory_kib - first.memory_kib > MAY_GROW_KIB:
        found.append(f"memory grew by {last.memory_kib - first.memory_kib} KiB")
    for name in ("descriptors", "threads", "children"):
        before, after = getattr(first, name), getattr(last, name)
        if after > before + 2:
            found.append(f"{name} grew from {before} to {after}")
    return found
