"""A daemon that has done eighty runs holds no more than one that has done twenty.

What a long life costs in memory is measured by script/soak and script/bench; this is what can be counted.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.backups import SCHEDULE, Backups
from autopilot.daemon.drafts import Drafts
from autopilot.daemon.inbox import Ended, Inbox
from autopilot.daemon.loop import Loop
from autopilot.daemon.retention import Retention
from autopilot.daemon.store import writes
from autopilot.daemon.supervisor import Launch, Supervisor
from autopilot.daemon.upkeep import Upkeep
from autopilot.daemon.watch import Order
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.shop import Stage
from tests.support.wait import wait_until

CONFIG = "max_open_drafts = 0\ncost_ceiling_usd = 100000\n"
WARM_UP, RUNS = 20, 80
# What the stage itself collects for the tests: every launch that was asked for.
PLAYED = {"Launch", "Order", "PlayedWatch"}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path, config=CONFIG)
    writes.turn_on(stage.store, by="test", ignore_window=True)
    yield stage
    stage.store.close()


def ours() -> Counter[str]:
    """How many objects of our own classes are alive."""
    gc.collect()
    kinds = (type(one) for one in gc.get_objects())
    return Counter(kind.__name__ for kind in kinds if str(kind.__module__).startswith("autopilot."))


def held() -> dict[str, int]:
    """Descriptors and threads of this process, once the day's copy is made."""
    wait_until(
        lambda: all(one.name != SCHEDULE for one in threading.enumerate()), 60, "no copy is being made"
    )
    return {"descriptors": len(os.listdir("/dev/fd")), "threads": threading.active_count()}  # noqa: PTH208 - not a folder of files


def publish_one(stage: Stage, loop: Loop) -> None:
    ticket = queue.add(stage.store, repo="shop")
    loop.tick()
    stage.commit(ticket.id)
    loop.tick()
    stage.publish()
    loop.tick()
    assert stage.state(ticket.id) is State.PUBLISHED
    stage.clock.advance(2 * 3600)


@pytest.mark.slow
@pytest.mark.field_report("DMN-050")
def test_dmn_050_eighty_more_runs_leave_no_descriptor_thread_watch_or_object_behind(stage: Stage) -> None:
    chores = (Drafts(stage.supervisor), Backups(stage.inbox), Retention(), Upkeep())
    loop = Loop(stage.shop, chores=chores)
    loop.recover()
    for _ in range(WARM_UP):
        publish_one(stage, loop)
    before, objects = held(), ours()
    for _ in range(RUNS):
        publish_one(stage, loop)
    stage.inbox.take(0)
    chores[1].close()
    after, more = held(), ours() - objects
    assert after["threads"] == before["threads"]
    assert after["descriptors"] <= before["descriptors"] + 1, "SQLite keeps one to close later"
    assert stage.supervisor.is_idle
    assert {name: count for name, count in more.items() if name not in PLAYED and count > 5} == {}


@pytest.mark.field_report("DMN-050")
def test_dmn_050_children_that_ended_leave_no_thread_and_no_descriptor(tmp_path: Path) -> None:
    inbox = Inbox()
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox)

    def live(number: int) -> None:
        order = Order(
            key=f"child-{number}",
            journal=tmp_path / "events.jsonl",
            fence=1,
            wall_s=60,
            grace_s=1,
            keep_awake=lambda _: nullcontext(),
        )
        program = (sys.executable, "-S", "-c", "print('x' * 1000)")
        env = {"AUTOPILOT_RUN_ID": order.key}
        supervisor.start(
            Launch(argv=program, cwd=tmp_path, env=env, output=tmp_path / f"{number}.log", order=order)
        )
        while Ended(order.key) not in inbox.take(60):
            pass
        supervisor.forget(order.key)

    for number in range(3):
        live(number)
    before = held()
    for number in range(3, 18):
        live(number)
    assert held() == before
    assert supervisor.is_idle
