"""A watch, one look at a time: no thread, no process, no waiting."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from autopilot.config.proc import ProcessId
from autopilot.daemon.inbox import Ended, Inbox
from autopilot.daemon.processes import Handle
from autopilot.daemon.supervisor import Supervisor
from autopilot.daemon.watch import POLL_S, STOP_MARGIN_S, Order, Watch
from tests.support.clock import FakeClock

CHILD = ProcessId(7, 70)
GRACE_S = 10.0


@dataclass
class OneChild:
    """A table with one process, which dies only by force."""

    lives: bool = True
    blind: int = 0
    asked: int = 0
    marks: list[str] = field(default_factory=list)

    def spawn(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> Handle:
        raise NotImplementedError

    def find(self, mark: str) -> ProcessId | None:
        self._look()
        return CHILD if self.lives else None

    def is_alive(self, process: ProcessId) -> bool:
        return self.lives and process == CHILD

    def is_standing(self, process: ProcessId) -> bool:
        return False

    def ask_to_end(self, process: ProcessId) -> None:
        self._look()
        self.asked += 1

    def end_tree(self, process: ProcessId | None, *, mark: str) -> int:
        self._look()
        self.lives = False
        self.marks.append(mark)
        return 1

    def _look(self) -> None:
        if self.blind:
            self.blind -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


class BlindAtFirst(OneChild):
    """The same, which cannot be looked at for a while."""

    def is_alive(self, process: ProcessId) -> bool:
        self._look()
        return super().is_alive(process)


@pytest.fixture
def table() -> OneChild:
    return OneChild()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def watch(tmp_path: Path, table: OneChild, clock: FakeClock, inbox: Inbox) -> Watch:
    order = Order(
        key="T-1-a1-00000001",
        journal=tmp_path / "events.jsonl",
        fence=1,
        wall_s=100,
        grace_s=GRACE_S,
        keep_awake=lambda _: nullcontext(),
    )
    return Watch(order, CHILD, child=None, processes=table, clock=clock, inbox=inbox)


def test_a_child_asked_to_end_is_ended_by_force_after_its_grace_and_told_once(
    watch: Watch, table: OneChild, clock: FakeClock, inbox: Inbox
) -> None:
    assert watch.step() == POLL_S
    watch.stop("cancelled")
    assert watch.step() == POLL_S
    clock.advance(GRACE_S + STOP_MARGIN_S - POLL_S)
    assert watch.step() == POLL_S
    assert table.lives
    clock.advance(POLL_S)
    assert watch.step() is None
    assert watch.step() is None
    assert (table.lives, table.asked, table.marks) == (False, 1, [watch.order.key])
    assert inbox.take(0) == (Ended(watch.order.key),)


def test_asking_and_ending_are_tried_again_where_the_machine_could_not_be_looked_at(
    watch: Watch, table: OneChild, clock: FakeClock, inbox: Inbox
) -> None:
    watch.stop("cancelled")
    table.blind = 2
    assert [watch.step(), watch.step(), table.asked] == [POLL_S, POLL_S, 0]
    watch.step()
    assert table.asked == 1
    clock.advance(GRACE_S + STOP_MARGIN_S)
    table.blind = 1
    assert watch.step() == POLL_S
    assert (watch.ending, inbox.take(0)) == (None, ())
    assert watch.step() is None
    assert inbox.take(0) == (Ended(watch.order.key),)


def test_a_watch_that_is_told_to_stop_at_every_tick_still_rests_between_two_looks(
    watch: Watch, table: OneChild, clock: FakeClock
) -> None:
    """While the child has its grace, and while what is left of it cannot be looked at."""
    rests = []
    for number in range(6):
        assert watch.stop("the daemon stops") == (number == 0)
        if number == 3:
            clock.advance(GRACE_S + STOP_MARGIN_S)
            table.blind = 3
        assert watch.step() == POLL_S
        watch.stop("the daemon stops")
        rests.append(not watch._pause.is_set())  # noqa: SLF001 - what its thread waits for
    assert (rests, table.asked) == ([True] * 6, 1)


def test_the_first_to_ask_wakes_the_watch(watch: Watch) -> None:
    watch.step()
    watch.stop("cancelled")
    assert watch._pause.is_set()  # noqa: SLF001 - as above


@pytest.mark.parametrize("lives", [True, False])
def test_a_child_of_an_earlier_daemon_stays_under_watch_where_the_machine_cannot_be_looked_at(
    watch: Watch, clock: FakeClock, inbox: Inbox, *, lives: bool
) -> None:
    """Else its ticket would be judged, and might run again, while it still works."""
    table = BlindAtFirst(lives=lives, blind=1)
    supervisor = Supervisor(clock=clock, inbox=inbox, processes=table, start=lambda _: None)
    assert supervisor.adopt(watch.order, CHILD)
    adopted = supervisor.get(watch.order.key)
    assert adopted is not None
    assert [adopted.step(), adopted.ending is None] == ([POLL_S, True] if lives else [None, False])


def test_a_child_that_was_not_written_down_is_found_or_else_swept_up_later(
    watch: Watch, table: OneChild, clock: FakeClock, inbox: Inbox
) -> None:
    supervisor = Supervisor(clock=clock, inbox=inbox, processes=table, start=lambda _: None)
    assert supervisor.find(watch.order) == CHILD
    table.blind = 2
    assert supervisor.find(watch.order) is None
    assert supervisor.clear(watch.order, None) is None
    assert supervisor.get(watch.order.key) is not None


def test_what_a_dead_child_left_is_swept_later_where_the_machine_cannot_be_looked_at(
    watch: Watch, table: OneChild, clock: FakeClock, inbox: Inbox
) -> None:
    supervisor = Supervisor(clock=clock, inbox=inbox, processes=table, start=lambda _: None)
    table.blind = 1
    assert supervisor.clear(watch.order, None) is None
    assert inbox.take(0) == ()
    adopted = supervisor.get(watch.order.key)
    assert adopted is not None
    assert adopted.step() is None
    assert (table.lives, inbox.take(0)) == (False, (Ended(watch.order.key),))
    supervisor.forget(watch.order.key)
    assert supervisor.clear(watch.order, None) == 1
    assert supervisor.is_idle


SHORT_OF = {
    "the journal": "autopilot.daemon.watch.read_lines",
    "the lease": "autopilot.daemon.pulse.renew",
    "its state": f"{__name__}.OneChild.is_standing",
    "whether it lives": f"{__name__}.OneChild.is_alive",
    "the lock": f"{__name__}.nullcontext",
    "the clock": "tests.support.clock.FakeClock.monotonic_s",
}


@pytest.mark.parametrize("what", SHORT_OF)
@pytest.mark.parametrize("by", [MemoryError, OSError])
def test_a_look_for_which_there_is_no_memory_ends_no_healthy_child(
    watch: Watch, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, what: str, by: type[Exception]
) -> None:
    """Its agent is paid: that we cannot look says nothing about it."""
    table, tried = OneChild(), list[str]()

    def fail(*_: object) -> object:
        tried.append(what)
        raise by("none left")

    folder = watch.order.journal.parent
    watch.order.journal.write_bytes(b"")
    wanted = replace(watch.order, lease=folder / "lease", lease_s=60, keep_awake=lambda _: nullcontext())
    watch = Watch(wanted, CHILD, child=None, processes=table, clock=clock, inbox=Inbox())
    with monkeypatch.context() as patched:
        patched.setattr(SHORT_OF[what], fail)
        for _ in range(3):
            assert watch.step() == POLL_S
            clock.advance(1)
    assert len(tried) >= 3
    assert (table.marks, watch.ending) == ([], None)
    table.lives = False
    assert watch.step() is None
    assert watch.ending is not None
    assert (watch.ending.asked, watch.ending.told) == ("", "the process is gone")
