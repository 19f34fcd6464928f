"""How long after a restart every ticket that a crash left running is judged."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing

from autopilot.daemon.store import writes
from tests.bench.house import NOWHERE, claim_next, configured, folder
from tests.bench.measure import Bench, Finding, Row, Scale
from tests.support import queue
from tests.support.daemon import Daemon
from tests.support.wait import wait_until

_POLL_S = 1
_BAR_MS = 1000 * (2 + _POLL_S)
_PATIENCE_S = 120
_CASES = {"restart, 1 live": 1, "restart, 50 live": 50}
_MOST_ROUNDS = 5


def _measure(scale: Scale) -> Iterator[Finding]:
    for name, live in _CASES.items():
        count = min(live, scale.many // 1000)
        rounds = range(min(_MOST_ROUNDS, scale.rounds))
        yield Finding(name, tuple(1000 * _restart(count) for _ in rounds), {"live": count, "queued": count})


def _restart(live: int) -> float:
    """Start a daemon where a kill left so many dead runs; give the seconds until all are judged."""
    with folder() as place:
        up = Daemon(place / "home", config=configured(NOWHERE, poll_s=_POLL_S))
        up.paths.ensure()
        _leave(up, live)
        start_s = time.perf_counter()
        up.start(is_awaited=False)
        try:
            with closing(sqlite3.connect(up.paths.database, isolation_level=None)) as raw:
                wait_until(lambda: _running(raw) == 0, _PATIENCE_S, f"all are judged; {up.said()}")
                return time.perf_counter() - start_s
        finally:
            up.stop()


def _leave(up: Daemon, live: int) -> None:
    """What kill -9 of the daemon and its runners leaves; as many tickets wait."""
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    with closing(up.store()) as store:
        writes.turn_on(store, by="bench", ignore_window=True)
        for number in range(2 * live):
            queue.add(store, f"Ticket {number}", repo="bench")
        for _ in range(live):
            claimed = claim_next(store)
            run = claimed.attempt
            up.paths.run_dir(run.run_id).mkdir()
            writes.record_process(store, run.run_id, fence=run.fence, pid=gone.pid, pid_started_ms=1)
        writes.turn_off(store, by="bench")


def _running(raw: sqlite3.Connection) -> int:
    (count,) = raw.execute("SELECT count(*) FROM tickets WHERE state = 'running'").fetchone()
    return int(count)


BENCH = Bench(
    tuple(
        Row(
            name,
            f"start to all judged, {live} live and {live} queued",
            "2 s and one poll",
            "ms",
            _BAR_MS,
        )
        for name, live in _CASES.items()
    ),
    _measure,
)
