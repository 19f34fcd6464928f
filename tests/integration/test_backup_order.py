"""Which copy of the queue is the newest: the one made last, whatever the clock was set to."""

from __future__ import annotations

from autopilot.daemon.store import backup, copies, migrate
from autopilot.daemon.store.engine import Store
from autopilot.schemas.units import MS_PER_S
from tests.support import queue

DAY_MS = 24 * 3600 * MS_PER_S


def make(store: Store, taken_ms: int) -> copies.Copy:
    return backup.make(store.database, taken_ms=taken_ms, kind="daily", schema=migrate.HEAD)


def test_copies_of_a_week_on_a_clock_that_was_ahead_drive_out_none_that_is_made_after_it_was_set_right(
    store: Store,
) -> None:
    start_ms = store.clock.now_ms()
    for day in range(3):
        folder = make(store, start_ms + (400 + day) * DAY_MS).path.parent
        backup.prune(folder, keep=3)
    for day in range(5):
        queue.add(store, f"Since {day}")
        made = make(store, start_ms + day * DAY_MS)
        removed = backup.prune(folder, keep=3)
        assert len(removed) == 1
        assert copies.in_folder(folder)[0] == made.path
        assert copies.newest_good(folder) == made
    assert made.tickets == 5


def test_copies_of_an_earlier_program_have_no_number_and_are_older_than_any_that_has_one(
    store: Store,
) -> None:
    start_ms = store.clock.now_ms()
    made = make(store, start_ms)
    folder = made.path.parent
    for day in (200, 100):
        name = copies.name_of(migrate.HEAD, start_ms + day * DAY_MS, "daily")
        (folder / name).write_bytes(made.path.read_bytes())
    last = make(store, start_ms)
    assert [path.name[15:25] for path in copies.in_folder(folder)] == [
        *["2026-01-02", "2026-01-02"],
        *["2026-07-21", "2026-04-12"],
    ]
    assert (copies.in_folder(folder)[0], copies.kind_of(last.path)) == (last.path, "daily")
    assert copies.taken_ms(last.path) == start_ms
    assert len(backup.prune(folder, keep=1)) == 3
    assert copies.newest_good(folder) == last
