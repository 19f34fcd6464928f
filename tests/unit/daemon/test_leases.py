"""Who renews which lease, when, and what becomes of a child that stands still or whose claim is gone."""

from __future__ import annotations

import errno
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from autopilot.config.proc import ProcessId
from autopilot.daemon import transitions
from autopilot.daemon.inbox import Inbox
from autopilot.daemon.loop import Loop
from autopilot.daemon.processes import SystemProcesses
from autopilot.daemon.pulse import PULSE_S, Pulse
from autopilot.daemon.watch import Order, Watch
from autopilot.schemas.decision import Release
from autopilot.schemas.machine import State
from autopilot.schemas.run import Lease
from tests.support import queue
from tests.support.clock import FakeClock
from tests.support.shop import Stage

CHILD = ProcessId(7, 70)
LEASE_S = 60.0


@dataclass(frozen=True)
class OneChild(SystemProcesses):
    """A table with one process that a test holds still."""

    state: dict[str, bool]

    def is_alive(self, process: ProcessId) -> bool:
        return self.state["lives"]

    def is_standing(self, process: ProcessId) -> bool:
        if self.state["blind"]:
            raise OSError(errno.EMFILE, "no descriptor is left")
        return self.state["stands"]

    def end_tree(self, process: ProcessId | None, *, mark: str) -> int:
        self.state["lives"] = False
        return 1


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def table(clock: FakeClock) -> OneChild:
    return OneChild(clock, {"lives": True, "stands": False, "blind": False})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lease"


@pytest.fixture
def pulse(file: Path, clock: FakeClock, table: OneChild) -> Pulse:
    return Pulse(CHILD, file, LEASE_S, processes=table, clock=clock)


def stamp(file: Path) -> int:
    return file.stat().st_mtime_ns


def test_a_child_is_renewed_at_once_and_then_once_a_second(
    pulse: Pulse, file: Path, clock: FakeClock
) -> None:
    pulse.beat()
    seen = [stamp(file)]
    for _ in range(5):
        clock.advance(PULSE_S / 2)
        pulse.beat()
        seen.append(stamp(file))
    assert [later != earlier for earlier, later in pairwise(seen)] == [
        False, True, False, True, False,
    ]  # fmt: skip


def test_a_child_that_stands_still_is_not_renewed_and_given_up_after_its_lease(
    pulse: Pulse, file: Path, clock: FakeClock, table: OneChild
) -> None:
    pulse.beat()
    before, table.state["stands"] = stamp(file), True
    for second in range(int(LEASE_S)):
        clock.advance(1)
        assert pulse.beat() == (second == LEASE_S - 1)
        assert not pulse.is_steady
    assert stamp(file) == before


def test_a_child_that_stood_still_for_less_is_renewed_again(
    pulse: Pulse, clock: FakeClock, table: OneChild
) -> None:
    for _ in range(3):
        table.state["stands"] = True
        for _ in range(int(LEASE_S) - 1):
            clock.advance(1)
            assert not pulse.beat()
        table.state["stands"] = False
        clock.advance(1)
        assert not pulse.beat()
        assert pulse.is_steady


def test_time_in_which_the_daemon_was_held_still_is_not_held_against_a_child(
    pulse: Pulse, clock: FakeClock, table: OneChild
) -> None:
    table.state["stands"] = True
    for _ in range(5):
        clock.advance(3600)
        assert not pulse.beat()


def test_a_child_that_cannot_be_looked_at_is_renewed(
    pulse: Pulse, file: Path, clock: FakeClock, table: OneChild
) -> None:
    table.state["blind"] = True
    pulse.beat()
    before = stamp(file)
    clock.advance(1)
    pulse.beat()
    assert stamp(file) != before


def test_a_run_folder_that_is_gone_ends_nothing(tmp_path: Path, clock: FakeClock, table: OneChild) -> None:
    pulse = Pulse(CHILD, tmp_path / "gone" / "lease", LEASE_S, processes=table, clock=clock)
    for _ in range(100):
        clock.advance(1)
        assert not pulse.beat()


def test_a_watch_ends_what_stood_still_for_its_lease_as_a_death_of_its_own(
    tmp_path: Path, file: Path, clock: FakeClock, table: OneChild
) -> None:
    order = Order(
        key="T-1-a1-00000001",
        journal=tmp_path / "events.jsonl",
        fence=1,
        wall_s=10_000,
        grace_s=1,
        keep_awake=lambda _: nullcontext(),
        lease=file,
        lease_s=LEASE_S,
    )
    watch = Watch(order, CHILD, child=None, processes=table, clock=clock, inbox=Inbox())
    watch.step()
    table.state["stands"] = True
    while watch.step() is not None:
        clock.advance(1)
        assert clock.monotonic_s() < 1000 + LEASE_S + 5, "it is ended in time"
    assert watch.ending is not None
    assert (watch.ending.asked, watch.ending.is_overdue, table.state["lives"]) == ("", False, False)
    assert (
        watch.ending.told
        == "the process stood still (stopped by a signal) for its lease of 1m 00s and was killed"
    )


def until(stage: Stage, name: str = "T-1") -> int:
    """How many seconds the claim of a ticket is promised from now."""
    lease = stage.claim_of(name).attempt.lease_until_ms
    assert lease is not None
    return round((lease - stage.clock.now_ms()) / 1000)


def test_the_loop_renews_every_quarter_of_a_lease_and_asks_to_be_woken_for_it(stage: Stage) -> None:
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    assert until(stage) == 60
    due_ms = loop.tick()
    assert due_ms == stage.clock.now_ms() + 15_000
    stage.clock.advance(10)
    assert loop.tick() == due_ms
    assert until(stage) == 50
    stage.clock.advance(5)
    loop.tick()
    assert until(stage) == 60


def test_a_draining_loop_goes_on_renewing(stage: Stage) -> None:
    from autopilot.daemon.inbox import StopAsked

    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    loop.tick([StopAsked("test")])
    stage.clock.advance(20)
    assert loop.tick() == stage.clock.now_ms() + 15_000
    assert until(stage) == 60


def test_a_publication_is_renewed_like_a_run(stage: Stage) -> None:
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    stage.commit()
    loop.tick()
    assert stage.state() is State.PUBLISHING
    first = stage.publication().lease_until_ms
    stage.clock.advance(20)
    loop.tick()
    assert stage.publication().lease_until_ms == (first or 0) + 20_000
    assert stage.publish_specs()[0].fence == stage.publication().fence == 2


def test_an_adopted_run_is_renewed_before_it_is_judged_however_long_the_daemon_was_away(
    stage: Stage,
) -> None:
    Loop(stage.shop).recover()
    queue.add(stage.store)
    Loop(stage.shop).tick()
    stage.clock.advance(7200)
    assert until(stage) == -7140
    loop = Loop(stage.shop)
    loop.recover()
    loop.tick()
    assert (stage.state(), until(stage)) == (State.RUNNING, 60)


def test_a_run_whose_claim_is_gone_is_stopped_and_keeps_nobody_from_ending(stage: Stage) -> None:
    """As when an older database was put back under a daemon: what runs there is nobody's."""
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    claimed = stage.claim_of("T-1")
    other = queue.lost(claimed, "reboot")
    transitions.release(
        stage.store,
        claimed.ticket,
        other,
        Release(stage.clock.now_ms() + 10**9, "by another"),
        rules=stage.shop.rules,
    )
    stage.clock.advance(15)
    loop.tick()
    watch = stage.supervisor.watch(claimed.attempt.run_id)
    assert watch.stops == ["its claim has ended"]
    stage.supervisor.end(claimed.attempt.run_id)
    loop.tick()
    assert stage.supervisor.is_idle
    assert (stage.state(), queue.look(stage.store, "T-1").releases) == (State.QUEUED, 1)


def test_a_run_that_stands_still_is_not_promised_anything_more(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    watch = stage.supervisor.watch(stage.claim_of("T-1").attempt.run_id)
    monkeypatch.setattr(type(watch), "is_steady", property(lambda _: False))
    stage.clock.advance(20)
    loop.tick()
    assert until(stage) == 40


def test_a_runner_and_a_publisher_are_told_of_their_lease(stage: Stage) -> None:
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    stage.commit()
    loop.tick()
    run, publication = stage.run_specs()[0], stage.publish_specs()[0]
    orders = [launch.order for launch in stage.supervisor.launches]
    assert [run.lease, publication.lease] == [
        Lease(file=order.lease, lease_s=60) for order in orders if order.lease is not None
    ]
    assert run.lease != publication.lease
