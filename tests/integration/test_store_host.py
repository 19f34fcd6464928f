"""Switch, holds and schedules: rows that survive a restart and are written only when something changes."""

from __future__ import annotations

from pathlib import Path

from autopilot.daemon.store import past_holds, queries_host, writes
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


class TestPastHolds:
    def since(self, store: Store, since_ms: int = 0) -> list[tuple[str, str, int, int]]:
        with store.read() as conn:
            found = past_holds.since(conn, since_ms)
        return [(one.name, one.cause, one.held_ms, one.times) for one in found]

    def test_one_that_has_ended_is_kept_with_cause_cure_start_and_end(
        self, store: Store, clock: FakeClock
    ) -> None:
        begun_ms = clock.now_ms()
        writes.sync_holds(store, [hold("credential", "repo:a", since_ms=begun_ms)])
        writes.sync_holds(store, [hold("credential", "repo:a", cause="locked", cure="unlock it")])
        assert self.since(store) == []
        clock.advance(7 * 3600)
        writes.sync_holds(store, [hold("switch-off")])
        with store.read() as conn:
            (one,) = past_holds.since(conn, clock.now_ms())
        assert (one.name, one.scope, one.cause, one.cure) == ("credential", "repo:a", "locked", "unlock it")
        assert (one.since_ms, one.until_ms) == (begun_ms, begun_ms + 7 * HOUR)
        assert (one.held_ms, one.times) == (7 * HOUR, 1)
        assert self.since(store, clock.now_ms() + 1) == []

    def test_one_that_flickers_is_one_row_which_says_how_often(self, store: Store, clock: FakeClock) -> None:
        for number in range(200):
            load = hold("load-high", since_ms=clock.now_ms(), cause=f"load {number}")
            writes.sync_holds(store, [load, hold("repo-busy", f"repo:{number % 2}", since_ms=clock.now_ms())])
            clock.advance(60)
            writes.sync_holds(store, [])
            clock.advance(past_holds.SAME_MS / 4000)
        assert self.since(store) == [
            ("repo-busy", "because", 100 * 60_000, 100),
            ("load-high", "load 199", 200 * 60_000, 200),
            ("repo-busy", "because", 100 * 60_000, 100),
        ]

    def test_one_that_comes_again_after_a_while_is_another(self, store: Store, clock: FakeClock) -> None:
        for _ in range(2):
            writes.sync_holds(store, [hold("load-high", since_ms=clock.now_ms())])
            clock.advance(60)
            writes.sync_holds(store, [])
            clock.advance(past_holds.SAME_MS / 1000 + 1)
        assert self.since(store) == [("load-high", "because", 60_000, 1)] * 2

    def test_a_clock_that_is_set_back_makes_none_of_negative_length(
        self, store: Store, clock: FakeClock
    ) -> None:
        writes.sync_holds(store, [hold("load-high", since_ms=clock.now_ms() + HOUR)])
        writes.sync_holds(store, [])
        assert self.since(store) == [("load-high", "because", 0, 1)]


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
