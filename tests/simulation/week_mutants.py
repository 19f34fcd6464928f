"""Faults planted into the product that a week must show: each breaks one of its promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from typing import Any

from sqlalchemy import delete, insert

from autopilot.daemon import nightly, schedules, sleeping, windows
from autopilot.daemon.store import queries_host, writes
from autopilot.daemon.store.rows import HoldChanges
from autopilot.daemon.store.tables_host import HOLDS
from autopilot.daemon.store.unit import in_one
from tests.simulation.ends import Patch

_HOUR_S = 3600


def launched_at_any_hour() -> tuple[Patch, ...]:
    """The window is open whatever the clock says."""
    return ((windows, "is_open", lambda *_: True),)


def window_by_utc() -> tuple[Patch, ...]:
    """The window is that of another place: the hours of UTC."""
    is_open = windows.is_open

    def elsewhere(schedule: Any, now_ms: int) -> bool:
        return bool(is_open(replace(schedule, tz=UTC), now_ms))

    return ((windows, "is_open", elsewhere),)


def no_digest_after_a_sleep() -> tuple[Patch, ...]:
    """What fell due longer ago than an hour is let go, as by a scheduler with a grace limit."""
    look = schedules.look

    def punctual(*args: Any, **about: Any) -> Any:
        due = look(*args, **about)
        return replace(due, is_open=due.is_open and due.late_s < _HOUR_S)

    return ((schedules, "look", punctual),)


def fired_twice_on_a_date() -> tuple[Patch, ...]:
    """What fires is told apart by the instant alone: a trip brings the same date twice."""
    return ((queries_host, "has_fired", lambda *_: False),)


def blamed_for_a_sleep() -> tuple[Patch, ...]:
    """A run that a sleep broke has failed."""
    return ((sleeping, "fair", lambda report, *_, **__: report),)


def sleep_forgotten() -> tuple[Patch, ...]:
    """Nobody writes down that the machine slept."""
    return ((sleeping, "record", lambda *_: True),)


def holds_begin_anew() -> tuple[Patch, ...]:
    """A hold that stands is entered again at each tick."""

    def anew(store: Any, holds: Any) -> Any:
        def work(unit: Any) -> None:
            unit.conn.execute(delete(HOLDS))
            for hold in {(one.name, one.scope): one for one in holds}.values():
                unit.conn.execute(insert(HOLDS).values(**hold.model_dump()))

        in_one(store, work)
        return HoldChanges((), ())

    return ((writes, "sync_holds", anew),)


def digest_given_up() -> tuple[Patch, ...]:
    """A digest that cannot be written counts as written."""
    is_written = nightly._is_written  # noqa: SLF001 - a mutant may do what nobody should

    def once(shop: Any, due: Any, trouble: Any) -> bool:
        try:
            return is_written(shop, due, trouble)
        except OSError:
            schedules.settle(shop.store, due)
            return True

    return ((nightly, "_is_written", once),)


_MUTANTS: tuple[Callable[[], tuple[Patch, ...]], ...] = (
    launched_at_any_hour,
    window_by_utc,
    no_digest_after_a_sleep,
    fired_twice_on_a_date,
    blamed_for_a_sleep,
    sleep_forgotten,
    holds_begin_anew,
    digest_given_up,
)
OF_WEEK = {mutant.__name__: mutant for mutant in _MUTANTS}
