"""How long a claim can take while many others write."""

from __future__ import annotations

import multiprocessing
import statistics
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from autopilot.config.clock import SystemClock
from autopilot.daemon.store.engine import Store, open_store
from autopilot.daemon.store.rows import Claim
from tests.bench.house import claim_next, complete, folder, store_of
from tests.bench.measure import Bench, Finding, Row, Scale, spent_on
from tests.support import queue
from tests.support.wait import wait_until

_ROW = "slowest claim, 16 writers"
_FORK = multiprocessing.get_context("fork")


def _measure(scale: Scale) -> Iterator[Finding]:
    slowest: list[float] = []
    every: list[float] = []
    claims = max(2, scale.samples // scale.rounds)
    with folder() as place, closing(store_of(place, 2 * scale.samples)) as store:
        crew = [_FORK.Process(target=_write, args=(place,), daemon=True) for _ in range(scale.processes)]
        for one in crew:
            one.start()
        wait_until(lambda: len(list(place.glob("ready-*"))) == len(crew), 60, "all writers write")
        for _ in range(scale.rounds):
            took: list[float] = []
            for _ in range(claims):
                claimed: list[Claim] = []
                took.append(spent_on(partial(_claim_into, claimed, store)).wall_s)
                complete(store, claimed[0])
            slowest.append(1000 * max(took))
            every += took
        (place / "stop").touch()
        for one in crew:
            one.join()
    notes = {
        "median_ms": 1000 * statistics.median(every),
        "median_slowest_ms": statistics.median(slowest),
        "claims": len(every),
    }
    yield Finding(_ROW, tuple(slowest), notes)


def _claim_into(claimed: list[Claim], store: Store) -> None:
    claimed.append(claim_next(store))


def _write(place: Path) -> None:
    """Queue tickets without a pause, as sixteen command lines would."""
    with closing(open_store(place / "autopilot.db", SystemClock(), role="cli")) as store:
        (place / f"ready-{multiprocessing.current_process().pid}").touch()
        while not (place / "stop").exists():
            queue.add(store)


BENCH = Bench(
    (
        Row(
            _ROW,
            "slowest of all claims, 16 processes queueing without a pause",
            "a limit",
            "ms",
            250.0,
            "worst",
        ),
    ),
    _measure,
)
