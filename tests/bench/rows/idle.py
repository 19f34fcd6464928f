"""What the daemon takes while there is nothing to do, and what is left over after many ticks."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import multiprocessing.connection
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import psutil

from autopilot.daemon import acts, app
from autopilot.daemon.api.control import ControlServer
from autopilot.daemon.api.routes import Routes
from autopilot.daemon.backups import Backups
from autopilot.daemon.delivery.courier import Courier
from autopilot.daemon.doors import Doors
from autopilot.daemon.drafts import Drafts
from autopilot.daemon.gc.chore import Cleaner
from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.daemon.store.rows import Claim
from autopilot.daemon.turns import Turns
from autopilot.daemon.vigil import Vigil
from autopilot.schemas.run import Outcome, RunResult, Usage
from tests.bench.house import daemon, folder
from tests.bench.measure import Bench, Finding, Row, Scale
from tests.support import idle, queue
from tests.support.shop import PlayedSupervisor, Stage

_PROCESSOR, _MEMORY, _GROWTH = "idle, processor", "idle, memory", "growth"
_FORK = multiprocessing.get_context("fork")
_TICK_S = 20
_TWO_DAYS_S = 48 * 3600
_WARM_TICKS, _WARM_EVERY = 500, 5
_DAY_TICKS = 24 * 3600 // _TICK_S
_TICKS_PER_TICKET = 100
_SETTLE_S = 2.0
_NS_PER_S = 1e9
_OURS = ("autopilot", "__main__", "__mp_main__")
_BARE = """import importlib, sys
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ImportError:
        pass
import psutil
print(psutil.Process().memory_info().rss)"""


def _measure_daemon(scale: Scale) -> Iterator[Finding]:
    """Each round is a start of its own: what a process is given at its start differs from one to the next."""
    spell_s = scale.idle_s / scale.few
    with daemon() as up:
        up.stop()  # the first start made the queue, which takes the tools of migration
        names = "\n".join(name for name in idle.loaded(up) if name.partition(".")[0] not in _OURS)
        shares, resident, bare = [], [], []
        for _ in range(scale.few):
            pid = up.start().pid
            multiprocessing.connection.wait([], min(_SETTLE_S, spell_s))  # the start is over
            before_s = _processor_s(pid)
            multiprocessing.connection.wait([], spell_s)
            shares.append(100 * (_processor_s(pid) - before_s) / spell_s)
            resident.append(psutil.Process(pid).memory_info().rss)
            up.stop()
            bare.append(int(_python(_BARE, up.environment(), given=names)))
        up.start()  # for its end is awaited
    yield Finding(_PROCESSOR, tuple(shares), {"seconds": scale.idle_s})
    values = tuple(ours / packages for ours, packages in zip(resident, bare, strict=True))
    notes = {"ours_mb": statistics.median(resident) / 1e6, "bare_mb": statistics.median(bare) / 1e6}
    yield Finding(_MEMORY, values, notes)


def _processor_s(pid: int) -> float:
    """Processor time in nanoseconds' steps where Linux counts it so, else in the clock's. Source: proc(5)."""
    tasks = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    if tasks:
        return sum(int(task.read_text().split()[0]) for task in tasks) / _NS_PER_S
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _python(code: str, environment: dict[str, str], *, given: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _measure_growth(scale: Scale) -> Iterator[Finding]:
    rounds = [_grown(scale.ticks) for _ in range(scale.few)]
    notes = {
        "ticks": scale.ticks,
        "descriptors": max(descriptors for _, descriptors, _ in rounds),
        "threads": max(threads for _, _, threads in rounds),
    }
    yield Finding(_GROWTH, tuple(grown for grown, _, _ in rounds), notes)


def _grown(ticks: int) -> tuple[float, int, int]:
    near, far = _FORK.Pipe()
    process = _FORK.Process(target=_tick_on, args=(far, ticks))
    process.start()
    far.close()  # so that a child that fails ends the waiting for its word
    told: tuple[float, int, int] = near.recv()
    process.join()
    return told


def _tick_on(far: Connection, ticks: int) -> None:
    """Tick as the daemon does, with all its chores and a ticket now and then; say how much more there is."""
    with folder() as place, full_house(place) as (stage, loop, children):
        # Two days as full as the measured ones, and one at their pace: each daily chore has been done, caches
        # are warm, and of the memory that Python keeps for such days every page has been used once.
        _ticks(stage, loop, children, _Pace(min(ticks, _WARM_TICKS), _TWO_DAYS_S / _WARM_TICKS, _WARM_EVERY))
        _ticks(stage, loop, children, _Pace(min(ticks, _DAY_TICKS), _TICK_S, _TICKS_PER_TICKET))
        before = _held()
        _ticks(stage, loop, children, _Pace(ticks, _TICK_S, _TICKS_PER_TICKET))
        after = _held()
    far.send((100 * (after[0] - before[0]) / before[0], after[1] - before[1], after[2] - before[2]))


@contextlib.contextmanager
def full_house(place: Path) -> Iterator[tuple[Stage, Loop, PlayedSupervisor]]:
    """A loop with everything that the daemon wires to it, and the children that its chores start."""
    stage = Stage(place)
    writes.turn_on(stage.store, by="bench", ignore_window=True)
    children = PlayedSupervisor(clock=stage.clock, inbox=stage.inbox)
    routes = Routes(
        stage.store,
        desk=stage.desk,
        inbox=stage.inbox,
        about=dict[str, object],
        is_ready=threading.Event().is_set,
    )
    control = ControlServer(stage.paths.control_socket, routes, on_fault=_refuse)
    drafts, backups, cleaner = Drafts(children), Backups(stage.inbox), Cleaner(children)
    courier = Courier(children)
    with contextlib.ExitStack() as closing, daemon_lock(stage.paths.daemon_lock) as lock:
        control.start()
        for close in (stage.store.close, drafts.close, cleaner.close, backups.close, control.stop):
            closing.callback(close)
        doors = Doors(lock, control)
        chores = app.chores(
            doors, app.Hands(drafts, backups, cleaner, courier, Vigil(None), Turns()), trouble=lambda: None
        )
        yield stage, Loop(stage.shop, chores=chores), children


def _refuse(error: BaseException) -> None:
    raise error


class _Pace(NamedTuple):
    """How many ticks, how far apart, and how many of them to a ticket."""

    ticks: int
    step_s: float
    per_ticket: int


def _ticks(stage: Stage, loop: Loop, children: PlayedSupervisor, pace: _Pace) -> None:
    for number in range(pace.ticks):
        loop.tick()
        for key in [launch.order.key for launch in children.launches]:
            children.end(key)
        children.launches.clear()
        stage.clock.advance(pace.step_s)
        if number % pace.per_ticket == 0:
            name = queue.add(stage.store).id
            loop.tick()
            stage.hand_in(_asked(stage.claim_of(name)))
            loop.tick()
            acts.cancel(stage.store, name, by="bench")  # what waits is told of every night
            stage.supervisor.launches.clear()  # what a stage keeps for tests is no growth of ours


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
    (Row(_GROWTH, "resident memory more after 10,000 ticks", "the same before, after three days", "%", 2.0),),
    _measure_growth,
)
