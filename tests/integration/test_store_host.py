"""Switch, holds and schedules: rows that survive a restart and are written only when something changes."""

from __future__ import annotations

from pathlib import Path

from autopilot.daemon.store import queries_host, writes
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.unit import in_one
from autopilot.schemas.ticket import Hold
from tests.support import queue
from tests.support.clock import FakeClock

HOUR = 3_600_000


def hold(name: str, scope: str = "host", **fields: object) -> Hold:
    values: dict[str, object] = {"cause": "because", "since_ms": 5, "cure": "wait", "clears_ms": None}
    return Hold.model_validate({"name": name, "scope": scope, **values, **fields})


def standing(store: Store) -> list[tuple[str, int]]:
    with store.read() as conn:
        return [(row.name, row.since_ms) for row in queries_host.holds(conn)]


def version(store: Store) -> int:
    """Something that grows with every commit: the size of the write-ahead log."""
    return store.database.with_name(store.database.name + "-wal").stat().st_size


def test_a_new_machine_stands_at_off(tmp_path: Path) -> None:
    store = queue.new_store(tmp_path, is_on=False)
    with store.read() as conn:
        switch = queries_host.switch(conn)
    assert (switch.is_on, switch.off_mode, switch.by) == (False, "finish", "install")
    store.close()


def test_the_switch_survives_a_restart_with_everything_that_was_said(
    store: Store, tmp_path: Path, clock: FakeClock
) -> None:
    now_ms = clock.now_ms()
    on = writes.turn_on(store, by="me", ignore_window=True, until_ms=now_ms + HOUR)
    again = queue.new_store(tmp_path, clock, is_on=False)
    with again.read() as conn:
        assert queries_host.switch(conn) == on
    assert (on.may_launch(now_ms), on.may_launch(now_ms + HOUR)) == (True, False)
    off = writes.turn_off(again, by="you", mode="drain", drain_until_ms=now_ms + HOUR)
    again.close()
    with store.read() as conn:
        assert queries_host.switch(conn) == off
    assert (off.is_on, off.off_mode, off.drain_until_ms, off.until_ms) == (
        False,
        "drain",
        now_ms + HOUR,
        None,
    )
    assert writes.turn_on(store, by="me").drain_until_ms is None


def test_a_hold_keeps_its_beginning_for_as_long_as_it_stands(store: Store) -> None:
    first = writes.sync_holds(store, [hold("switch-off", since_ms=5)])
    assert [row.name for row in first.started] == ["switch-off"]
    second = writes.sync_holds(store, [hold("switch-off", since_ms=9), hold("slots-full", since_ms=9)])
    assert [row.name for row in second.started] == ["slots-full"]
    assert standing(store) == [("switch-off", 5), ("slots-full", 9)]
    third = writes.sync_holds(store, [hold("slots-full", since_ms=11, cause="another")])
    assert [row.name for row in third.ended] == ["switch-off"]
    with store.read() as conn:
        (row,) = queries_host.holds(conn)
    assert (row.since_ms, row.cause) == (9, "another")


def test_holds_that_stay_the_same_write_nothing(store: Store) -> None:
    holds = [hold("switch-off"), hold("repo-busy", "repo:a"), hold("repo-busy", "repo:b")]
    writes.sync_holds(store, holds)
    size = version(store)
    changes = writes.sync_holds(store, [*holds, holds[0]])
    assert (changes.started, changes.ended, version(store)) == ((), (), size)


def test_a_schedule_fires_once_for_each_of_its_moments(store: Store, tmp_path: Path) -> None:
    other = queue.new_store(tmp_path, is_on=False)

    def is_fired(which: Store, nominal_ms: int) -> bool:
        return in_one(which, lambda unit: writes.fire(unit, "digest", nominal_ms))

    assert [is_fired(which, 100) for which in (store, other, store)] == [True, False, False]
    assert is_fired(store, 200)
    with other.read() as conn:
        assert queries_host.last_firing(conn, "digest") == 200
        assert queries_host.last_firing(conn, "another") is None
    other.close()


def test_a_spend_that_tells_nothing_new_writes_nothing(store: Store) -> None:
    claimed = queue.claim(store, queue.add(store))
    writes.record_spend(store, claimed.attempt.run_id, 100, fence=1)
    size = version(store)
    for told in (100, 50, 100):
        writes.record_spend(store, claimed.attempt.run_id, told, fence=1)
    assert version(store) == size
