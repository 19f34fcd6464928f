"""The lock from on to off, all night: what is lost is taken again, and the lid is held beside the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon.own_lock import OwnLock, ServiceAndLid, lid_alone, more_than_sleep
from autopilot.daemon.store import nights, writes
from autopilot.daemon.vigil import Vigil
from autopilot.launchd import awake, power
from tests.support.keepers import Keeper
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


def kept(stage: Stage) -> dict[str, tuple[str, str]]:
    with stage.store.read() as conn:
        return {lock.name: (lock.kind, lock.warning) for lock in nights.locks(conn)}


class Locks:
    """Gives locks as it is told to, and notes what each was to hold off; a lock ends when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[awake.More] = []
        self.ended: set[int] = set()
        self.warning = ""
        monkeypatch.setattr(awake, "hold", self.hold)
        monkeypatch.setattr(awake.AwakeLock, "is_held", property(self.is_held))
        monkeypatch.setattr(awake.AwakeLock, "release", lambda lock: self.ended.add(self.number(lock)))

    def hold(self, *, more: awake.More, **_: object) -> awake.AwakeLock:
        self.taken.append(more)
        return awake.AwakeLock("logind", self.warning, str(len(self.taken)))

    def is_held(self, lock: awake.AwakeLock) -> bool:
        return self.number(lock) not in self.ended

    def number(self, lock: awake.AwakeLock) -> int:
        return int(lock.detail)

    @property
    def held(self) -> list[awake.More]:
        return [more for at, more in enumerate(self.taken, 1) if at not in self.ended]


def look(vigil: Vigil, stage: Stage, *, seconds: int) -> None:
    """Let the loop tick for so long."""
    for _ in range(seconds // 15):
        stage.clock.advance(15)
        vigil(stage.shop)


@pytest.mark.covers("D01")
@pytest.mark.field_report("DMN-036")
def test_a_lock_whose_program_is_killed_in_the_night_is_taken_again_and_told_as_it_is(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = Locks(monkeypatch)
    vigil = Vigil(OwnLock(lambda: more_than_sleep(stage.shop.settings)))
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    look(vigil, stage, seconds=30)
    assert kept(stage) == {"night": ("logind", "")}
    locks.ended.add(1)
    look(vigil, stage, seconds=60)
    assert locks.held == [awake.More()]
    look(vigil, stage, seconds=15)
    assert kept(stage) == {"night": ("logind", "")}
    with monkeypatch.context() as gone:
        gone.setattr(awake, "hold", lambda **_: awake.AwakeLock("none", "awake-no-bus", "2"))
        locks.ended.add(2)
        look(vigil, stage, seconds=90)
    assert kept(stage) == {"night": ("none", "awake-no-bus")}
    writes.turn_off(stage.store, by="test")
    vigil(stage.shop)
    assert locks.held == []


@pytest.mark.covers("D01")
def test_an_awake_service_that_ends_in_the_night_is_started_again_and_told_as_it_is(stage: Stage) -> None:
    keeper = Keeper(holds=True)
    vigil = Vigil(keeper)
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    look(vigil, stage, seconds=15)
    assert kept(stage) == {"night": ("launchd", "")}
    keeper.holds = False
    keeper.asked.clear()
    look(vigil, stage, seconds=330)
    assert keeper.asked == ["asked", True, "asked"]
    assert kept(stage) == {"night": ("none", "awake-not-given")}
    keeper.asked.clear()
    look(vigil, stage, seconds=600)
    assert set(keeper.asked) == {"asked"}  # it is given up, and not started again and again
    keeper.holds = True
    look(vigil, stage, seconds=300)
    assert kept(stage) == {"night": ("launchd", "")}


@pytest.mark.covers("D01", "D04")
@pytest.mark.field_report("DMN-035")
def test_beside_the_awake_service_the_lid_is_held_off_as_the_configuration_and_the_power_say(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two runs a shut lid still put the machine to sleep, though a check said that it may be shut."""
    locks, plugged = Locks(monkeypatch), [True]
    monkeypatch.setattr(power, "is_on_mains", lambda: plugged[0])
    keeper = Keeper(holds=True)
    lid = OwnLock(lambda: lid_alone(stage.shop.settings, platform="linux"))
    vigil = Vigil(ServiceAndLid(keeper, lid))
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    assert locks.held == []
    config = stage.paths.config_file
    plain = config.read_text()
    config.write_text(f'{plain}[awake]\nlid = "on-mains"\n')
    stage.current.refresh()
    look(vigil, stage, seconds=330)
    assert locks.held == [awake.More(lid=True, sleep=False)]
    plugged[0] = False
    look(vigil, stage, seconds=330)
    assert locks.held == []
    config.write_text(f'{plain}[awake]\nlid = "always"\n')
    stage.current.refresh()
    look(vigil, stage, seconds=330)
    assert locks.held == [awake.More(lid=True, sleep=False)]
    keeper.refuses = True
    writes.turn_off(stage.store, by="test")
    vigil(stage.shop)
    assert locks.held == []
    assert lid_alone(stage.shop.settings, platform="darwin") is None


@pytest.mark.parametrize("is_service", [True, False])
def test_a_lid_that_is_refused_is_told_although_the_night_is_held(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, is_service: bool
) -> None:
    locks = Locks(monkeypatch)
    locks.warning = "awake-lid-refused"
    config = stage.paths.config_file
    config.write_text(config.read_text() + '[awake]\nlid = "always"\n')
    stage.current.refresh()
    keeper = Keeper(holds=True)
    lid = OwnLock(lambda: lid_alone(stage.shop.settings, platform="linux"))
    whole = OwnLock(lambda: more_than_sleep(stage.shop.settings))
    vigil = Vigil(ServiceAndLid(keeper, lid) if is_service else whole)
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    look(vigil, stage, seconds=900)
    assert kept(stage) == {"night": ("launchd" if is_service else "logind", "awake-lid-refused")}
    assert len(locks.taken) == 1


@pytest.mark.parametrize("by_s", [-3 * 3600, 3 * 3600])
def test_a_lock_that_is_lost_after_the_clock_was_set_is_taken_again_as_soon_as_ever(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, by_s: int
) -> None:
    locks = Locks(monkeypatch)
    vigil = Vigil(OwnLock(lambda: more_than_sleep(stage.shop.settings)))
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    stage.clock.jump_wall(by_s)
    look(vigil, stage, seconds=30)
    assert kept(stage) == {"night": ("logind", "")}, "it is told soon, whatever the clock shows"
    stage.clock.jump_wall(by_s)
    locks.ended.add(1)
    look(vigil, stage, seconds=60)
    assert locks.held == [awake.More()]
