"""What the daemon takes while there is nothing to do, and what is left over after many ticks."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.connection
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from autopilot.daemon.drafts import Drafts
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.store import writes
from autopilot.daemon.store.rows import Claim
from autopilot.schemas.run import Outcome, RunResult, Usage
from tests.bench.house import daemon, folder
from tests.bench.measure import Bench, Finding, Row, Scale
from tests.support import queue
from tests.support.shop import Stage

_PROCESSOR, _MEMORY, _GROWTH = "idle, processor", "idle, memory", "growth"
_FORK = multiprocessing.get_context("fork")
_TICK_S = 20
_TICKS_PER_TICKET = 100
_SETTLE_S = 2.0
_NS_PER_S = 1e9
# What the daemon has loaded once it is up on a queue that exists, without what is ours.
_NAMES = """import sys
from pathlib import Path
import autopilot.daemon.app
from autopilot.config.clock import SystemClock
from autopilot.daemon.store.engine import open_store
open_store(Path(sys.argv[1]), SystemClock(), role="daemon").close()
print("\\n".join(name for name in sys.modules if name.partition(".")[0] not in ("autopilot", "__main__")))"""
_BARE = """import importlib, sys
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ImportError:
        pass
import psutil
print(psutil.Process().memory_info().rss)"""


def _measure_daemon(scale: Scale) -> Iterator[Finding]:
    spell_s, spells = scale.idle_s / 3, 3
    with daemon() as up:
        up.stop()  # the first start made the queue, which takes the tools of migration
        pid = up.start().pid
        multiprocessing.connection.wait([], min(_SETTLE_S, spell_s))  # the start is over
        shares = []
        for _ in range(spells):
            before_s = _processor_s(pid)
            multiprocessing.connection.wait([], spell_s)
            shares.append(100 * (_processor_s(pid) - before_s) / spell_s)
        resident = psutil.Process(pid).memory_info().rss
        up.stop()
        names = _python(_NAMES, up.environment(), str(up.paths.database))
        bare = [int(_python(_BARE, up.environment(), given=names)) for _ in range(min(3, scale.rounds))]
    yield Finding(_PROCESSOR, tuple(shares), {"seconds": scale.idle_s})
    values = tuple(resident / size for size in bare)
    yield Finding(_MEMORY, values, {"ours_mb": resident / 1e6, "bare_mb": bare[0] / 1e6})


def _processor_s(pid: int) -> float:
    """Processor time in nanoseconds' steps where Linux counts it so, else in the clock's. Source: proc(5)."""
    tasks = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    if tasks:
        return sum(int(task.read_text().split()[0]) for task in tasks) / _NS_PER_S
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _python(code: str, environment: dict[str, str], *words: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _measure_growth(scale: Scale) -> Iterator[Finding]:
    near, far = _FORK.Pipe()
    process = _FORK.Process(target=_tick_on, args=(far, scale.ticks))
    process.start()
    far.close()  # so that a child that fails ends the waiting for its word
    grown, descriptors, threads = near.recv()
    process.join()
    yield Finding(_GROWTH, (grown,), {"ticks": scale.ticks, "descriptors": descriptors, "threads": threads})


def _tick_on(far: Connection, ticks: int) -> None:
    """Tick as the daemon does, with a ticket now and then; say how much more there is at the end."""
    with folder() as place:
        stage = Stage(place)
        writes.turn_on(stage.store, by="bench", ignore_window=True)
        drafts = Drafts(stage.supervisor)
        loop = Loop(stage.shop, chores=(drafts, partial(write_digest_if_due, is_ready=drafts.are_told)))
        _ticks(stage, loop, min(ticks, 5 * _TICKS_PER_TICKET))  # caches are warm
        before = _held()
        _ticks(stage, loop, ticks)
        after = _held()
        stage.store.close()
    far.send((100 * (after[0] - before[0]) / before[0], after[1] - before[1], after[2] - before[2]))


def _ticks(stage: Stage, loop: Loop, count: int) -> None:
    for number in range(count):
        loop.tick()
        stage.clock.advance(_TICK_S)
        if number % _TICKS_PER_TICKET == 0:
            name = queue.add(stage.store).id
            loop.tick()
            stage.hand_in(_asked(stage.claim_of(name)))


def _asked(claimed: Claim) -> RunResult:
    """A run that asks and has cost nothing, so that no ceiling ends the measurement."""
    return queue.result(claimed, Outcome.ASKED, questions=("Which?",), usage=Usage(known=True))


def _held() -> tuple[int, int, int]:
    gc.collect()
    own = psutil.Process()
    descriptors = own.num_fds() if os.name == "posix" else 0
    return own.memory_info().rss, descriptors, threading.active_count()


DAEMON = Bench(
    (
        Row(_PROCESSOR, "share of one core over a minute with nothing to do", "a limit in %", "%", 0.1),
        Row(
            _MEMORY,
            "resident memory of the idle daemon",
            "a process that imports the same packages",
            "x",
            1.15,
        ),
    ),
    _measure_daemon,
)
GROWTH = Bench(
    (Row(_GROWTH, "resident memory more after 10,000 ticks", "the same after 500", "%", 2.0),),
    _measure_growth,
)
