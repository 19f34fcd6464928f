"""The machine slept: it is written down with what it cost, and no run is blamed for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from autopilot.daemon import sleeping, windows
from autopilot.daemon.clockwork import Clockwork
from autopilot.daemon.inbox import LockTried
from autopilot.daemon.loop import Loop
from autopilot.daemon.outlasting import Outlasting
from autopilot.daemon.store import nights, queries_host, queries_tickets, writes
from autopilot.schemas.errors import TransientError
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.shop import Stage

HOUR_S = 3600
HOUR_MS = HOUR_S * 1000
NIGHTLY = '[schedule]\nwindow = "22:00-07:00"\ntimezone = "UTC"\n'


class Night:
    """A loop that is told of the clock as the daemon tells it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.tick = Outlasting(Loop(stage.shop))
        self.clockwork = Clockwork(stage.inbox, clock=stage.clock, poll_s=3600)

    def turn(self) -> None:
        self.tick.heed(self.clockwork.passed())
        self.tick(())

    def sleeps(self) -> tuple[nights.Sleep, ...]:
        with self.stage.store.read() as conn:
            return nights.sleeps(conn, 0)

    def run_id(self, ticket: str = "T-1") -> str:
        return self.stage.claim_of(ticket).attempt.run_id


@pytest.fixture
def night(stage: Stage) -> Night:
    night = Night(stage)
    queue.add(stage.store)
    night.turn()
    return night


@pytest.mark.field_report("DMN-035")
def test_a_sleep_is_written_down_once_with_its_start_its_length_and_what_was_under_way(
    stage: Stage, night: Night
) -> None:
    began_ms = stage.clock.now_ms()
    stage.clock.suspend(6 * HOUR_S)
    stage.clock.advance(5)
    night.turn()
    night.turn()
    (slept,) = night.sleeps()
    assert slept == nights.Sleep(
        started_ms=began_ms, slept_ms=6 * HOUR_MS, lost_ms=6 * HOUR_MS, runs=(night.run_id(),)
    )
    assert slept.ended_ms == stage.clock.now_ms() - 5000


def test_a_sleep_that_began_long_after_the_last_look_is_as_long_as_it_was(stage: Stage, night: Night) -> None:
    stage.clock.advance(900)
    stage.clock.suspend(HOUR_S)
    night.turn()
    (slept,) = night.sleeps()
    assert slept.slept_ms == HOUR_MS
    assert slept.ended_ms <= stage.clock.now_ms()


def test_a_sleep_while_the_clock_was_set_is_told_by_the_clock_as_it_is_now(
    stage: Stage, night: Night
) -> None:
    stage.clock.suspend(2 * HOUR_S)
    stage.clock.jump_wall(24 * HOUR_S)
    night.turn()
    (slept,) = night.sleeps()
    assert (slept.slept_ms, slept.ended_ms) == (2 * HOUR_MS, stage.clock.now_ms())


@pytest.mark.parametrize("set_s", [6 * HOUR_S, -6 * HOUR_S])
def test_a_clock_that_was_set_is_no_sleep(stage: Stage, night: Night, set_s: int) -> None:
    stage.clock.jump_wall(set_s)
    night.turn()
    assert night.sleeps() == ()


class TestLost:
    @pytest.fixture
    def stage(self, tmp_path: Path) -> Iterator[Stage]:
        stage = Stage(tmp_path)
        config = stage.paths.config_file.read_text()
        stage.paths.config_file.write_text(config.replace('window = ""', 'window = "22:00-07:00"'))
        stage.current.refresh()
        yield stage
        stage.store.close()

    def slept_at(self, stage: Stage, hour: int, length_s: int) -> nights.Sleep:
        night = Night(stage)
        stage.clock.advance(hour * HOUR_S)
        night.turn()
        stage.clock.suspend(length_s)
        night.turn()
        return night.sleeps()[-1]

    def test_only_hours_of_the_window_are_lost(self, stage: Stage) -> None:
        writes.turn_on(stage.store, by="test")
        assert self.slept_at(stage, 5, 10 * HOUR_S).lost_ms == 2 * HOUR_MS

    def test_nothing_is_lost_while_the_switch_stands_at_off(self, stage: Stage) -> None:
        writes.turn_off(stage.store, by="test")
        assert self.slept_at(stage, 1, 3 * HOUR_S).lost_ms == 0

    def test_nothing_is_lost_after_the_switch_was_to_turn_off(self, stage: Stage) -> None:
        writes.turn_on(stage.store, by="test", until_ms=stage.clock.now_ms() + 2 * HOUR_MS)
        assert self.slept_at(stage, 1, 3 * HOUR_S).lost_ms == HOUR_MS

    def test_whoever_said_now_has_lost_hours_of_the_day_too(self, stage: Stage) -> None:
        writes.turn_on(stage.store, by="test", ignore_window=True)
        assert self.slept_at(stage, 9, 3 * HOUR_S).lost_ms == 3 * HOUR_MS


class TestFairness:
    def failed(self, stage: Stage, night: Night, code: str, outcome: Outcome, after_s: int) -> str:
        """Let the run fail so long after the machine woke; gives what became of it."""
        stage.clock.suspend(3 * HOUR_S)
        night.turn()
        stage.clock.advance(after_s)
        claimed = stage.claim_of("T-1")
        report = queue.result(claimed, outcome, code=code, finished_ms=stage.clock.now_ms())
        stage.hand_in(report)
        night.turn()
        with stage.store.read() as conn:
            moves = queries_tickets.history(conn, "T-1")
        return next(move.reason for move in reversed(moves) if move.from_state is State.RUNNING)

    @pytest.mark.field_report("DMN-035")
    @pytest.mark.parametrize(
        ("code", "outcome", "after_s"),
        [
            ("agent-unreachable", Outcome.AGENT_FAILED, 2),
            ("agent-silence", Outcome.TIMED_OUT, 905),
            ("agent-service-down", Outcome.AGENT_FAILED, 300),
        ],
    )
    def test_a_run_that_fails_after_the_machine_woke_is_given_back_and_paid_for(
        self, stage: Stage, night: Night, code: str, outcome: Outcome, after_s: int
    ) -> None:
        reason = self.failed(stage, night, code, outcome, after_s)
        ticket = queue.look(stage.store, "T-1")
        assert "interrupted by sleep: the machine slept for 3h 00m" in reason
        assert (ticket.attempts, ticket.sessions, ticket.losses) == (1, 2, 0), "it was started anew at once"
        assert ticket.releases == 1
        assert ticket.spent_micro_usd > 0
        with stage.store.read() as conn:
            assert all(row.failures == 0 for row in queries_host.breakers(conn))

    @pytest.mark.parametrize(
        ("code", "outcome", "after_s"),
        [
            ("agent-unreachable", Outcome.AGENT_FAILED, 3 * HOUR_S),
            ("agent-wall", Outcome.TIMED_OUT, 5),
            ("agent-no-progress", Outcome.TIMED_OUT, 5),
            ("agent-gave-up", Outcome.AGENT_FAILED, 5),
            ("resource-limit", Outcome.AGENT_FAILED, 5),
        ],
    )
    def test_what_no_sleep_explains_counts_as_ever(
        self, stage: Stage, night: Night, code: str, outcome: Outcome, after_s: int
    ) -> None:
        assert "sleep" not in self.failed(stage, night, code, outcome, after_s)
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.attempts, ticket.releases) == (1, 0)
        assert ticket.state is State.QUEUED

    def test_a_sleep_before_the_run_explains_nothing(self, stage: Stage) -> None:
        night = Night(stage)
        stage.clock.suspend(HOUR_S)
        night.turn()
        queue.add(stage.store)
        night.turn()
        report = queue.result(
            stage.claim_of("T-1"),
            Outcome.AGENT_FAILED,
            code="agent-unreachable",
            finished_ms=stage.clock.now_ms(),
        )
        stage.hand_in(report)
        night.turn()
        assert "sleep" not in queue.look(stage.store, "T-1").reason

    def test_work_that_was_done_in_spite_of_sleep_is_work(self, stage: Stage, night: Night) -> None:
        stage.clock.suspend(HOUR_S)
        night.turn()
        stage.commit()
        night.turn()
        assert queue.look(stage.store, "T-1").state is not State.QUEUED


@pytest.mark.field_report("DMN-035")
def test_a_drain_goes_on_for_as_long_as_was_said_in_time_awake(stage: Stage, night: Night) -> None:
    writes.turn_off(stage.store, by="test", mode="drain", drain_until_ms=stage.clock.now_ms() + 600_000)
    night.turn()
    stage.clock.suspend(2 * HOUR_S)
    night.turn()
    assert stage.supervisor.watch(night.run_id()).stops == []
    stage.clock.advance(601)
    night.turn()
    assert stage.supervisor.watch(night.run_id()).stops == ["switched off"]


def test_a_sleep_that_finds_a_full_disk_is_written_down_once_there_is_room(
    stage: Stage, night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise TransientError("database-full", "no room", hint="make some")

    with monkeypatch.context() as patch:
        patch.setattr(nights, "record_sleep", full)
        stage.clock.suspend(HOUR_S)
        night.turn()
        stage.clock.suspend(2 * HOUR_S)
        night.turn()
        assert night.sleeps() == ()
    night.turn()
    assert [slept.slept_ms for slept in night.sleeps()] == [HOUR_MS, 2 * HOUR_MS]


@pytest.mark.field_report("DMN-036")
def test_a_sleep_lock_that_is_not_to_be_had_stands_from_the_first_time_it_was_missing(
    stage: Stage, night: Night
) -> None:
    began_ms = stage.clock.now_ms()
    night.tick([LockTried("none", "awake-no-bus", "no bus")])
    stage.clock.advance(HOUR_S)
    night.tick([LockTried("none", "awake-no-bus", "no bus, again")])
    with stage.store.read() as conn:
        (lock,) = nights.locks(conn)
    assert (lock.name, lock.warning, lock.since_ms) == ("run", "awake-no-bus", began_ms)
    night.tick([LockTried("logind", "", "")])
    with stage.store.read() as conn:
        (lock,) = nights.locks(conn)
    assert (lock.kind, lock.warning, lock.since_ms) == ("logind", "", stage.clock.now_ms())


def test_the_hours_of_a_window_between_two_moments_are_counted_over_clock_changes() -> None:
    def ms(text: str) -> int:
        return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)

    berlin = windows.Schedule("22:00-07:00", ZoneInfo("Europe/Berlin"))
    ahead = windows.open_between_ms(berlin, ms("2026-03-28T12:00"), ms("2026-03-29T12:00"))
    back = windows.open_between_ms(berlin, ms("2026-10-24T12:00"), ms("2026-10-25T12:00"))
    week = windows.open_between_ms(berlin, ms("2026-05-01T12:00"), ms("2026-05-08T12:00"))
    assert (ahead, back, week) == (8 * HOUR_MS, 10 * HOUR_MS, 7 * 9 * HOUR_MS)
    assert windows.open_between_ms(None, 5, 12) == 7
    assert windows.open_between_ms(windows.Schedule("08:00-08:00"), 5, 12) == 7
    assert windows.open_between_ms(berlin, 12, 5) == 0


def test_a_run_that_was_lost_is_no_case_for_fairness() -> None:
    from autopilot.daemon.decide import Loss

    loss = Loss("T-1-a1-00000001", 1, "gone", "died", 5)
    assert sleeping.fair(loss, (), silence_s=1) is loss
