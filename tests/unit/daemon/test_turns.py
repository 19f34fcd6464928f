"""After a long sleep all that is overdue runs one after another, the most urgent first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon import agenda, clearing, retention, schedules
from autopilot.daemon.app import Hands, chores
from autopilot.daemon.backups import Backups
from autopilot.daemon.delivery.courier import Courier
from autopilot.daemon.drafts import Drafts
from autopilot.daemon.gc.chore import Cleaner
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.schedules import DAILY
from autopilot.daemon.store import nights, queries_host, writes
from autopilot.daemon.store.engine import open_store
from autopilot.daemon.turns import PAUSE_S, Turns
from autopilot.daemon.vigil import Vigil
from autopilot.daemon.watch import Ending
from tests.support.shop import PlayedSupervisor, Stage
from tests.support.wait import wait_until

HOUR_S = 3600
HOUR_MS = HOUR_S * 1000
DONE = Ending("the process ended with code 0", is_success=True)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


class House:
    """A loop with every daily chore of the daemon, wired as the daemon wires them."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.turns = stage, Turns()
        self.cleaning = PlayedSupervisor(clock=stage.clock, inbox=stage.inbox)
        self.backups = Backups(stage.inbox, self.turns)
        drafts = Drafts(PlayedSupervisor(clock=stage.clock, inbox=stage.inbox))
        cleaner, courier = Cleaner(self.cleaning, self.turns), Courier(self.cleaning)
        own = Hands(drafts, self.backups, cleaner, courier, Vigil(None), self.turns)
        no_doors = lambda _: None  # noqa: E731 - nothing to heal
        self.loop = Loop(stage.shop, chores=chores(no_doors, own, trouble=lambda: None))

    def tick(self) -> set[str]:
        """One pass, until the copy that it began is done; gives what has been settled by now."""
        before_ms = self.stage.clock.now_ms() - HOUR_MS
        self.loop.tick()
        wait_until(lambda: not self.is_copying, 60, "the copy is made")
        with self.stage.store.read() as conn:
            return {last.name for last in nights.schedules(conn) if last.ended_ms > before_ms}

    @property
    def is_copying(self) -> bool:
        copying = self.backups._copying  # noqa: SLF001 - its thread has no other handle
        return copying is not None and copying.is_alive()


@pytest.mark.field_report("DMN-013")
def test_after_a_long_sleep_what_is_overdue_runs_one_after_another_the_most_urgent_first(
    stage: Stage,
) -> None:
    house = House(stage)
    house.tick()
    stage.clock.suspend(60 * HOUR_S)
    order: list[str] = []
    for _ in range(60):
        settled = house.tick()
        fresh = [name for name in DAILY if name in settled and name not in order]
        assert len(fresh) <= 1, f"at once: {fresh}"
        order += fresh
        if house.cleaning.launches and "gc" not in order:
            assert len(order) == 4, "the clean-up began before its turn"
            house.cleaning.end(house.cleaning.launches[-1].order.key, DONE)
        stage.clock.advance(1)
    assert tuple(order) == DAILY
    assert len(house.cleaning.launches) == 1


def test_between_two_there_is_a_pause_that_is_not_always_the_same(stage: Stage) -> None:
    pauses = set[float]()
    for _ in range(8):
        turns = Turns()
        assert turns.take(stage.shop, "backup")
        turns.give(stage.shop, "backup")
        waited_s = 0.0
        while not turns.take(stage.shop, "gc"):
            wait_ms = turns.look_ms(stage.shop, "gc") - stage.clock.now_ms()
            stage.clock.advance(wait_ms / 1000)
            waited_s += wait_ms / 1000
        assert PAUSE_S <= waited_s <= 2 * PAUSE_S + 0.01
        pauses.add(waited_s)
    assert len(pauses) > 1


def test_one_at_work_keeps_the_others_waiting_and_the_digest_waits_for_nobody(stage: Stage) -> None:
    turns = Turns()
    assert turns.take(stage.shop, "gc")
    assert turns.take(stage.shop, "gc"), "who has its turn keeps it"
    assert not turns.take(stage.shop, "backup")
    assert turns.look_ms(stage.shop, "backup") > stage.clock.now_ms()
    assert turns.take(stage.shop, "digest", is_urgent=True)
    turns.give(stage.shop, "digest")
    turns.give(stage.shop, "gc", is_done=False)


def test_one_that_came_to_nothing_keeps_nobody_waiting(stage: Stage) -> None:
    turns = Turns()
    turns.take(stage.shop, "backup")
    turns.give(stage.shop, "backup", is_done=False)
    assert turns.take(stage.shop, "gc")


@pytest.mark.field_report("DMN-013", "DMN-015")
def test_how_a_schedule_went_is_kept_over_a_restart_with_how_late_it_was_and_what_was_missed(
    stage: Stage,
) -> None:
    write_digest_if_due(stage.shop)
    stage.clock.suspend(4 * 24 * HOUR_S + 9 * HOUR_S)
    next_ms = write_digest_if_due(stage.shop)
    again = open_store(stage.paths.database, stage.clock)
    with again.read() as conn:
        (last,) = nights.schedules(conn)
    again.close()
    assert (last.name, last.outcome, last.next_ms) == ("digest", "done", next_ms)
    assert last.detail == "1h 30m late; 4 earlier dates missed"
    assert last.ended_ms == stage.clock.now_ms()


def test_one_that_failed_says_why_and_when_it_is_tried_again_and_stays_due(stage: Stage) -> None:
    with stage.store.read() as conn:
        due = schedules.look(conn, "backup", at="08:00", zone=None, now_ms=stage.clock.now_ms())
    schedules.fail(stage.store, due, "no room\nat all", retry_ms=5)
    with stage.store.read() as conn:
        assert queries_host.last_firing(conn, "backup") is None
        (last,) = nights.schedules(conn)
        (shown,) = agenda.troubled(conn, stage.clock.now_ms())
    assert (last.outcome, last.detail, last.next_ms) == ("failed", "no room at all", 5)
    assert shown == last


@pytest.mark.field_report("DMN-015")
def test_a_schedule_that_has_missed_a_date_is_in_trouble(stage: Stage) -> None:
    write_digest_if_due(stage.shop)
    stage.clock.advance(8 * HOUR_S)
    write_digest_if_due(stage.shop)
    with stage.store.read() as conn:
        assert agenda.troubled(conn, stage.clock.now_ms() + 24 * HOUR_MS) == ()
        (stale,) = agenda.troubled(conn, stage.clock.now_ms() + 72 * HOUR_MS)
    assert stale.name == "digest"


def test_what_happens_next_is_told_with_the_operators_clock_the_soonest_first(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    config = stage.paths.config_file.read_text().replace('window = ""', 'window = "22:00-07:00"')
    stage.paths.config_file.write_text(config.replace('"UTC"', '"Europe/Berlin"'))
    stage.current.refresh()
    writes.turn_on(stage.store, by="test", until_ms=stage.clock.now_ms() + 5 * HOUR_MS)
    with stage.store.read() as conn:
        found = agenda.ahead(conn, stage.settings, stage.clock.now_ms())
    assert [(each.name, each.local) for each in found] == [
        ("the switch turns off", "2026-01-02 06:00 CET"),
        ("the window closes", "2026-01-02 07:00 CET"),
        ("digest", "2026-01-02 07:30 CET"),
        ("gc", "2026-01-02 07:30 CET"),
        ("reconcile", "2026-01-02 07:30 CET"),
        ("backup", "2026-01-02 08:00 CET"),
        ("retention", "2026-01-02 08:30 CET"),
    ]
    stage.clock.advance(8 * HOUR_S)
    writes.turn_on(stage.store, by="test")
    with stage.store.read() as conn:
        names = {each.name: each.local for each in agenda.ahead(conn, stage.settings, stage.clock.now_ms())}
    assert names["the window opens"] == "2026-01-02 22:00 CET"
    stage.store.close()


def test_a_clearing_that_fails_gives_its_turn_away(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise OSError(28, "no room")

    turns = Turns()
    cleared = retention.Retention(turns)
    cleared(stage.shop)
    stage.clock.advance(9 * HOUR_S)
    monkeypatch.setattr(clearing.Pass, "go_on", broken)
    with pytest.raises(OSError, match="no room"):
        cleared(stage.shop)
    assert turns.take(stage.shop, "gc")
