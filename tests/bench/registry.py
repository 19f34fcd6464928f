"""Every row that exists. A row is listed when what it measures is built, not before."""

from __future__ import annotations

from tests.bench.measure import Bench, Row
from tests.bench.rows import (
    depth,
    guard,
    idle,
    latency,
    past,
    queues,
    restart,
    sandbox,
    startup,
    storm,
    stream,
    worktrees,
    writers,
)

BENCHES: tuple[Bench, ...] = (
    queues.BENCH,
    depth.BENCH,
    past.BENCH,
    storm.BENCH,
    writers.BENCH,
    latency.CLAIM,
    latency.RUNNER,
    startup.BENCH,
    idle.DAEMON,
    idle.GROWTH,
    stream.BENCH,
    worktrees.BENCH,
    restart.BENCH,
    guard.BENCH,
    sandbox.BENCH,
)
ROWS: tuple[Row, ...] = tuple(row for bench in BENCHES for row in bench.rows)
