"""Faults planted into the product that a week must show: each breaks one of its promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert

from autopilot.daemon import admission_host, backups, nightly, schedules, sleeping, windows
from autopilot.daemon.digest import gather
from autopilot.daemon.digest.night import Night
from autopilot.daemon.probing import Probing
from autopilot.daemon.store import backup, copies, past_holds, queries_host, writes
from autopilot.daemon.store.rows import HoldChanges
from autopilot.daemon.store.tables_host import HOLDS
from autopilot.daemon.store.unit import in_one
from autopilot.schemas.ticket import Hold
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


def newest_copy_removed() -> tuple[Patch, ...]:
    """Of the copies of the queue the newest goes, instead of the oldest."""

    def prune(folder: Path, *, keep: int) -> None:
        for path in copies.in_folder(folder)[: -keep or None]:
            path.unlink()

    return ((backup, "prune", prune),)


def copy_again_at_every_start() -> tuple[Patch, ...]:
    """A copy that was made is not written down."""
    settle = schedules.settle

    def forgetful(store: Any, due: Any, **about: Any) -> None:
        if due.is_first or due.schedule != backups.SCHEDULE:
            settle(store, due, **about)

    return ((schedules, "settle", forgetful),)


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


def digest_without_holds() -> tuple[Patch, ...]:
    """The digest names none that stand."""
    return _of_night(lambda night: replace(night, holds=()))


def digest_of_the_moment() -> tuple[Patch, ...]:
    """What ended before the digest was written is not known to it."""
    return ((past_holds, "keep", lambda *_: None),)


def holds_of_no_cause() -> tuple[Patch, ...]:
    """Every cause and every cure is a word that says nothing."""
    return _of_sync(lambda holds: [hold.model_copy(update={"cause": "x", "cure": "x"}) for hold in holds])


def digest_of_no_cause() -> tuple[Patch, ...]:
    """As above, and only the digest says so."""
    told = {"cause": "x", "cure": "x"}
    return _of_night(
        lambda night: replace(night, holds=tuple(hold.model_copy(update=told) for hold in night.holds))
    )


def past_of_no_cause() -> tuple[Patch, ...]:
    """What is kept of a hold that ended is its name alone."""
    keep = past_holds.keep
    told = {"cause": "x", "cure": "x"}
    return ((past_holds, "keep", lambda unit, hold: keep(unit, hold.model_copy(update=told))),)


def hold_of_nothing() -> tuple[Patch, ...]:
    """A disk that has room is said to be low."""

    def more(holds: list[Hold]) -> list[Hold]:
        if not holds or any(hold.name == "disk-low" for hold in holds):
            return holds
        cause, cure = (
            "0.0 GiB of disk free; at least 1.0 GiB are kept",
            "free some disk, or lower min_free_disk_gib",
        )
        told = {"name": "disk-low", "scope": "host", "cause": cause, "cure": cure}
        return [*holds, holds[0].model_copy(update=told)]

    return _of_sync(more)


def full_disk_unheard() -> tuple[Patch, ...]:
    """A disk that is low keeps nothing from starting."""
    checks = admission_host._CHECKS  # noqa: SLF001 - as above
    kept = tuple(check for check in checks if check.__name__ != "_disk_low")
    return ((admission_host, "_CHECKS", kept),)


def looked_over_in_vain() -> tuple[Patch, ...]:
    """What a look over the machine finds keeps nothing from starting."""
    return ((Probing, "holds", lambda *_: ()),)


def looked_over_once() -> tuple[Patch, ...]:
    """What a look has found stands for ever: nobody looks again."""
    look = Probing._look  # noqa: SLF001 - as above

    def once(probing: Any, shop: Any) -> None:
        if not probing._blocking:  # noqa: SLF001 - as above
            look(probing, shop)

    return ((Probing, "_look", once),)


def locked_key_ring_unheard() -> tuple[Patch, ...]:
    """A credential that cannot be read is no reason to wait."""
    return _without("credential")


def refused_agent_unheard() -> tuple[Patch, ...]:
    """As above, of an agent's account."""
    return _without("agent-sign-in")


def silent_remote_unheard() -> tuple[Patch, ...]:
    """As above, of a remote."""
    return _without("remote-unreachable")


def _without(hold: str) -> tuple[Patch, ...]:
    """Let a look over the machine find all but that."""
    holds = Probing.holds
    return ((Probing, "holds", lambda *about: tuple(one for one in holds(*about) if one.name != hold)),)


def _of_night(change: Callable[[Night], Night]) -> tuple[Patch, ...]:
    """Let the digest be of a night that is not what was read."""
    night = gather.night
    return ((gather, "night", lambda *args, **about: change(night(*args, **about))),)


def _of_sync(change: Callable[[list[Hold]], list[Hold]]) -> tuple[Patch, ...]:
    """Let other holds stand than those that were found."""
    sync = writes.sync_holds
    return ((writes, "sync_holds", lambda store, holds: sync(store, change(list(holds)))),)


_MUTANTS: tuple[Callable[[], tuple[Patch, ...]], ...] = (
    launched_at_any_hour,
    window_by_utc,
    no_digest_after_a_sleep,
    fired_twice_on_a_date,
    newest_copy_removed,
    copy_again_at_every_start,
    blamed_for_a_sleep,
    sleep_forgotten,
    holds_begin_anew,
    digest_given_up,
    digest_without_holds,
    digest_of_the_moment,
    holds_of_no_cause,
    digest_of_no_cause,
    past_of_no_cause,
    hold_of_nothing,
    full_disk_unheard,
    looked_over_in_vain,
    looked_over_once,
    locked_key_ring_unheard,
    refused_agent_unheard,
    silent_remote_unheard,
)
OF_WEEK = {mutant.__name__: mutant for mutant in _MUTANTS}
