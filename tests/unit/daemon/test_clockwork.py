"""What wakes the loop: a backstop that no sleep can stop, and one appointment at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from apscheduler.events import EVENT_JOB_MISSED, JobExecutionEvent

from autopilot.config.clock import SystemClock
from autopilot.daemon.clockwork import Clockwork, Passed
from autopilot.daemon.inbox import Inbox, StopAsked, Woken
from tests.support.clock import FakeClock
from tests.support.wait import wait_until


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def clockwork(inbox: Inbox) -> Iterator[Clockwork]:
    clockwork = Clockwork(inbox, clock=SystemClock(), poll_s=3600)
    clockwork.start()
    yield clockwork
    clockwork.stop()


def woken(inbox: Inbox, by: str) -> None:
    wait_until(lambda: Woken(by) in inbox.take(0.1), 10, f"woken by {by}")


def test_an_appointment_wakes_the_loop_and_one_in_the_past_at_once(
    inbox: Inbox, clockwork: Clockwork
) -> None:
    clockwork.appoint(SystemClock().now_ms() + 50)
    woken(inbox, "appointment")
    clockwork.appoint(SystemClock().now_ms() - 8 * 3600 * 1000)  # it fell due while the machine slept
    woken(inbox, "appointment")
    clockwork.appoint(None)
    clockwork.appoint(2**62)  # no date can say that


def test_the_backstop_wakes_the_loop_again_and_again(inbox: Inbox) -> None:
    clockwork = Clockwork(inbox, clock=SystemClock(), poll_s=0.05)
    clockwork.start()
    woken(inbox, "backstop")
    woken(inbox, "backstop")
    clockwork.stop()


def test_the_scheduler_drops_no_alarm_for_being_late(clockwork: Clockwork) -> None:
    """APScheduler's own default drops a run that is one second late."""
    clockwork.appoint(SystemClock().now_ms() + 3_600_000)
    alarms = clockwork.alarms()
    assert {alarm.id for alarm in alarms} == {"backstop", "appointment"}
    for alarm in alarms:
        assert (alarm.misfire_grace_time, alarm.coalesce, alarm.max_instances) == (None, True, 1)


def test_a_missed_alarm_wakes_the_loop_all_the_same(inbox: Inbox, clockwork: Clockwork) -> None:
    clockwork.tell_trouble(JobExecutionEvent(EVENT_JOB_MISSED, "backstop", "default", None))
    woken(inbox, "missed schedule")


def test_sleep_is_told_from_being_awake() -> None:
    clock = FakeClock()
    clockwork = Clockwork(Inbox(), clock=clock, poll_s=3600)
    clock.advance(7200)
    assert clockwork.passed().slept_ms == 0
    clock.suspend(8 * 3600)
    assert clockwork.passed() == Passed(8 * 3600 * 1000, 0, clock.now_ms())
    assert clockwork.passed().slept_ms == 0


@pytest.mark.parametrize("seconds", [-86_400, -3600, 3600, 86_400])
def test_a_clock_that_was_set_is_told_from_a_machine_that_slept(seconds: int) -> None:
    clock = FakeClock()
    clockwork = Clockwork(Inbox(), clock=clock, poll_s=3600)
    clock.suspend(7200)
    clock.jump_wall(seconds)
    assert clockwork.passed() == Passed(7200 * 1000, seconds * 1000, clock.now_ms())
    clock.jump_wall(5)
    assert clockwork.passed().set_ms == 0


def test_the_inbox_gives_what_there_is_at_once_and_in_order() -> None:
    inbox = Inbox()
    assert inbox.take(0) == ()
    inbox.put(Woken("a"))
    inbox.put(StopAsked("SIGTERM"))
    assert inbox.take(60) == (Woken("a"), StopAsked("SIGTERM"))
    assert inbox.take(0.01) == ()
