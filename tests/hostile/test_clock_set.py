"""A clock that is set, ahead or back: no launch past the ceiling, no hold without an end, nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from autopilot.daemon.desk import turn_off
from autopilot.daemon.inbox import Spent, StopAsked, Woken
from autopilot.daemon.store import queries_host, steps, writes
from autopilot.schemas.errors import ExitCode, TransientError
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.clocked_host import CEILING, DAY_S, HOUR_S, YEAR_S, Host

REFUSED = ["database-busy", "database-full"]
JUMPS = [-DAY_S, -HOUR_S, HOUR_S, DAY_S]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host.stage.store.close()


@pytest.fixture
def poor(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path, config=CEILING)
    yield host
    host.stage.store.close()


@pytest.mark.parametrize("seconds", [*JUMPS, YEAR_S, -YEAR_S])
def test_setting_the_clock_frees_no_money_and_holds_none_for_ever(poor: Host, seconds: int) -> None:
    poor.spend()
    poor.clock.jump_wall(seconds)
    poor.look()
    assert poor.stage.hold_names() == {"cost-ceiling"}
    poor.clock.advance(23 * HOUR_S)
    poor.look()
    assert poor.stage.state("T-2") is State.QUEUED
    poor.clock.advance(26 * HOUR_S)
    poor.look()
    assert poor.stage.state("T-2") is State.RUNNING


@contextmanager
def steps_unkept(code: str) -> Iterator[None]:
    """Let no step of the clock be written down."""

    def refuse(*_: object, **__: object) -> None:
        raise TransientError(code, "as asked by the test")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "record", refuse)
        yield


@pytest.mark.parametrize("code", REFUSED)
def test_a_step_of_the_clock_that_could_not_be_written_down_is_and_meanwhile_nothing_starts(
    poor: Host, code: str
) -> None:
    poor.spend()
    poor.clock.jump_wall(DAY_S)
    with steps_unkept(code):
        poor.look()
    assert (poor.stage.state("T-2"), poor.tick.patience_s) == (State.QUEUED, 2.0)
    poor.look()
    poor.start()
    poor.look()
    assert poor.stage.hold_names() == {"cost-ceiling"}


@pytest.mark.parametrize("code", REFUSED)
def test_who_asks_the_daemon_to_end_is_heard_while_a_step_of_the_clock_cannot_be_written_down(
    host: Host, code: str
) -> None:
    host.clock.jump_wall(DAY_S)
    with steps_unkept(code), pytest.raises(TransientError) as ended:
        host.look([Woken("test"), StopAsked("SIGTERM")])
    assert (host.loop.is_draining, ended.value.exit_code) == (True, ExitCode.LATER)


@pytest.mark.parametrize("code", REFUSED)
def test_what_a_run_spends_while_a_step_of_the_clock_cannot_be_written_down_is_counted(
    host: Host, code: str
) -> None:
    queue.add(host.stage.store)
    host.look()
    attempt = host.stage.claim_of("T-1").attempt
    host.clock.jump_wall(DAY_S)
    with steps_unkept(code):
        host.look([Spent(attempt.run_id, attempt.fence, 300_000)])
        host.look([Spent(attempt.run_id, attempt.fence, 700_000), Woken("test")])
        host.look()
    assert host.stage.claim_of("T-1").attempt.spent_micro_usd == 0
    host.look()
    assert host.stage.claim_of("T-1").attempt.spent_micro_usd == 700_000


def test_what_a_run_spends_while_the_disk_is_full_is_counted(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.add(host.stage.store)
    host.look()
    attempt = host.stage.claim_of("T-1").attempt

    def refuse(*_: object, **__: object) -> None:
        raise TransientError("database-full", "as asked by the test")

    with monkeypatch.context() as patch:
        patch.setattr(writes, "record_spend", refuse)
        host.look([Spent(attempt.run_id, attempt.fence, 700_000)])
    host.look()
    assert host.stage.claim_of("T-1").attempt.spent_micro_usd == 700_000


def test_a_clock_set_back_while_no_daemon_runs_frees_no_money_either(poor: Host) -> None:
    poor.spend()
    poor.clock.jump_wall(-3 * DAY_S)
    poor.start()
    poor.look()
    assert poor.stage.hold_names() == {"cost-ceiling"}
    poor.clock.advance(2 * DAY_S)
    poor.look()
    assert poor.stage.state("T-2") is State.RUNNING


def test_a_clock_that_was_a_year_wrong_until_the_network_came_up_costs_no_day_of_waiting(poor: Host) -> None:
    poor.spend()
    poor.clock.advance(30 * DAY_S)
    poor.clock.jump_wall(-YEAR_S)  # a board without a battery, after a reboot
    poor.start()
    poor.clock.advance(60)
    poor.clock.jump_wall(YEAR_S)
    poor.look()
    assert poor.stage.state("T-2") is State.RUNNING


def test_the_day_of_a_machine_that_slept_counts(poor: Host) -> None:
    poor.spend()
    poor.clock.suspend(25 * HOUR_S)
    poor.look()
    assert poor.stage.state("T-2") is State.RUNNING


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_run_under_way_is_neither_lost_nor_started_twice(host: Host, seconds: int) -> None:
    queue.add(host.stage.store)
    host.look()
    host.clock.jump_wall(seconds)
    for _ in range(3):
        host.look()
        host.clock.advance(30)
    assert host.stage.state() is State.RUNNING
    assert len(host.stage.run_specs()) == 1
    host.stage.commit()
    host.look()
    assert queue.look(host.stage.store, "T-1").attempts == 1
    assert host.stage.state() is State.PUBLISHING


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_wait_after_a_failure_is_as_long_as_it_was(host: Host, seconds: int) -> None:
    queue.add(host.stage.store)
    host.look()
    host.stage.hand_in(queue.result(host.stage.claim_of("T-1"), Outcome.AGENT_FAILED))
    host.look()
    wait_ms = queue.look(host.stage.store, "T-1").not_before_ms - host.clock.now_ms()
    host.clock.jump_wall(seconds)
    host.look()
    assert queue.look(host.stage.store, "T-1").not_before_ms - host.clock.now_ms() == wait_ms
    assert host.stage.state() is State.QUEUED
    host.clock.advance(wait_ms / 1000 + 1)
    host.look()
    assert host.stage.state() is State.RUNNING


@pytest.mark.parametrize("seconds", JUMPS)
def test_what_a_person_said_about_the_time_is_kept_to(host: Host, seconds: int) -> None:
    due_ms = host.clock.now_ms() + 2 * HOUR_S * 1000
    queue.add(host.stage.store, not_before_ms=due_ms)
    host.look()
    host.clock.jump_wall(seconds)
    host.look()
    if host.clock.now_ms() >= due_ms:
        assert host.stage.state() is State.RUNNING
    else:
        assert queue.look(host.stage.store, "T-1").not_before_ms == due_ms
        assert host.stage.state() is State.QUEUED


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_cool_down_and_a_usage_window_are_as_long_as_they_were(host: Host, seconds: int) -> None:
    until_ms = host.clock.now_ms() + HOUR_S * 1000 // 2
    with host.stage.store.write() as conn:
        conn.execute(
            text(
                "INSERT INTO breakers (scope, state, failures, failure_class, opened_ms, cooldown_until_ms,"
                " cooldown_ms) VALUES ('host', 'open', 3, 'bug', 1, :until, 1800000)"
            ),
            {"until": until_ms},
        )
        conn.execute(
            text("INSERT INTO agent_windows VALUES ('scripted', 1, :until, 'used up', NULL)"),
            {"until": until_ms},
        )
    host.look()
    host.clock.jump_wall(seconds)
    host.look()
    with host.stage.store.read() as conn:
        assert queries_host.breaker(conn, "host").cooldown_until_ms == until_ms + seconds * 1000
        assert queries_host.agent_windows(conn)[0].resets_ms == until_ms + seconds * 1000


@pytest.mark.parametrize("seconds", JUMPS)
def test_the_digest_of_a_date_is_written_once_and_the_next_is_not_forgotten(host: Host, seconds: int) -> None:
    host.look()
    for _ in range(2 * 24 * 2):
        host.clock.advance(HOUR_S / 2)
        host.look()
    before = {path: path.stat().st_ino for path in host.stage.paths.digests.glob("*.md")}
    assert len(before) == 2
    host.clock.jump_wall(seconds)
    for _ in range(3 * 24 * 2):
        host.look()
        host.clock.advance(HOUR_S / 2)
    after = {path: path.stat().st_ino for path in host.stage.paths.digests.glob("*.md")}
    assert before.items() <= after.items()
    days = sorted(path.stem for path in after)
    assert len(days) == len(before) + {-DAY_S: 2}.get(seconds, 3)


def test_a_clock_that_was_a_year_ahead_for_a_while_does_not_end_the_digests(host: Host) -> None:
    host.look()
    host.clock.jump_wall(YEAR_S)
    host.look()
    host.clock.jump_wall(-YEAR_S)
    for _ in range(3):
        host.clock.advance(DAY_S)
        host.look()
    days = {path.stem for path in host.stage.paths.digests.glob("*.md")}
    assert {"2026-01-03", "2026-01-04", "2026-01-05"} <= days


@pytest.mark.parametrize("seconds", JUMPS)
def test_what_may_finish_for_ten_minutes_is_stopped_after_ten_whatever_the_clock_is_set_to(
    host: Host, seconds: int
) -> None:
    queue.add(host.stage.store)
    host.look()
    watch = host.stage.supervisor.watch(host.stage.claim_of("T-1").attempt.run_id)
    turn_off(host.stage.desk(), mode="drain", drain_s=600.0)
    host.clock.advance(60)
    host.clock.jump_wall(seconds)
    host.look()
    assert watch.stops == []
    host.clock.advance(600)
    host.look()
    assert watch.stops == ["switched off"]
