"""Awake from on to off: the awake service follows the switch, and is asked whether it holds anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon.own_lock import OwnLock, more_than_sleep
from autopilot.daemon.store import nights, writes
from autopilot.daemon.vigil import Vigil
from autopilot.schemas.errors import TransientError
from tests.support.keepers import Keeper
from tests.support.repo_traps import write_script
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


@pytest.mark.covers("D01", "D04")
def test_it_follows_the_switch_and_says_when_to_look_next(stage: Stage) -> None:
    keeper = Keeper(holds=False)
    vigil = Vigil(keeper)
    assert vigil(stage.shop) is None
    assert keeper.asked == [False]  # one that a daemon left behind when it was killed
    until_ms = stage.clock.now_ms() + 3_600_000
    writes.turn_on(stage.store, by="test", until_ms=until_ms)
    assert vigil(stage.shop) == stage.clock.now_ms() + 15_000
    assert vigil(stage.shop) == stage.clock.now_ms() + 15_000
    assert keeper.asked == [False, True]
    stage.clock.advance(15)
    assert vigil(stage.shop) == until_ms
    assert keeper.asked == [False, True, "asked"]
    stage.clock.advance(3600)
    assert vigil(stage.shop) is None
    assert keeper.asked == [False, True, "asked", False]


def test_a_daemon_that_ends_lets_the_machine_sleep_and_only_then(stage: Stage) -> None:
    keeper = Keeper(holds=False)
    vigil = Vigil(keeper)
    vigil.close()
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    vigil.close()
    assert keeper.asked == [True, False]


def test_who_wants_no_lock_gets_none(tmp_path: Path) -> None:
    stage, keeper = Stage(tmp_path, config="awake = { enabled = false }\n"), Keeper(holds=False)
    writes.turn_on(stage.store, by="test")
    Vigil(keeper)(stage.shop)
    assert keeper.asked == [False]
    stage.store.close()


@pytest.mark.parametrize("is_on", [True, False])
def test_a_keeper_that_refuses_stops_no_tick_and_is_asked_again_until_it_gives(
    stage: Stage, *, is_on: bool
) -> None:
    keeper = Keeper(holds=False)
    keeper.refuses = True
    if is_on:
        writes.turn_on(stage.store, by="test")
    vigil = Vigil(keeper)
    vigil(stage.shop)
    assert vigil(stage.shop) == stage.clock.now_ms() + 15_000
    assert keeper.asked == [is_on]
    stage.clock.advance(15)
    vigil(stage.shop)
    assert keeper.asked == [is_on] * 2
    keeper.refuses = False
    for _ in range(3):
        stage.clock.advance(15)
        vigil(stage.shop)
    assert keeper.asked == [is_on] * 3 + (["asked"] if is_on else [])
    Vigil(None)(stage.shop)


def test_the_end_asks_again_for_what_was_refused(stage: Stage) -> None:
    keeper = Keeper(holds=False)
    vigil = Vigil(keeper)
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    keeper.refuses = True
    writes.turn_off(stage.store, by="test")
    vigil(stage.shop)
    vigil.close()
    assert keeper.asked == [True, False, False]


def kept(stage: Stage) -> dict[str, tuple[str, str]]:
    with stage.store.read() as conn:
        return {lock.name: (lock.kind, lock.warning) for lock in nights.locks(conn)}


@pytest.mark.field_report("DMN-036")
def test_a_night_without_a_lock_is_told_while_it_lasts_and_no_longer(stage: Stage) -> None:
    keeper = Keeper(holds=False)
    vigil = Vigil(keeper)
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    stage.clock.advance(15)
    vigil(stage.shop)
    assert kept(stage) == {"night": ("none", "awake-not-given")}
    writes.turn_off(stage.store, by="test", mode="finish")
    vigil(stage.shop)
    assert kept(stage) == {}


@pytest.mark.field_report("DMN-036")
def test_a_refusal_of_the_init_system_is_told_with_its_code(stage: Stage) -> None:
    keeper = Keeper(holds=False)
    keeper.refuses = True
    writes.turn_on(stage.store, by="test")
    Vigil(keeper)(stage.shop)
    assert kept(stage) == {"night": ("none", "service-refused")}


def test_a_lock_that_nobody_asks_for_any_more_is_none_that_is_missing(stage: Stage) -> None:
    vigil = Vigil(None)
    vigil(stage.shop)
    for name in ("night", "run"):
        nights.note_lock(stage.store, name, kind="none", warning="awake-no-bus", detail="no bus")
    vigil(stage.shop)
    assert set(kept(stage)) == {"night", "run"}
    config = stage.paths.config_file
    config.write_text(config.read_text() + "[awake]\nenabled = false\n")
    stage.current.refresh()
    vigil(stage.shop)
    assert kept(stage) == {}


def test_a_lock_of_our_own_that_is_refused_is_told_in_the_systems_words_and_not_asked_for_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    for name in ("systemd-inhibit", "caffeinate"):
        write_script(tmp_path / "bin" / name, f"echo x >> '{asked}'\necho 'Access denied' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    vigil = Vigil(OwnLock(lambda: more_than_sleep(stage.shop.settings)))
    writes.turn_on(stage.store, by="test")
    for _ in range(5):
        vigil(stage.shop)
        stage.clock.advance(20)
    with stage.store.read() as conn:
        (lock,) = nights.locks(conn)
    assert (lock.kind, lock.warning, lock.detail) == ("none", "awake-refused", "Access denied")
    assert asked.read_text() == "x\n"


def test_a_disk_that_is_full_when_the_night_ends_keeps_no_machine_awake(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written first could not be, and nobody let the lock go any more."""
    keeper = Keeper(holds=False)
    vigil = Vigil(keeper)
    writes.turn_on(stage.store, by="test")
    vigil(stage.shop)
    writes.turn_off(stage.store, by="test")
    with monkeypatch.context() as full:
        full.setattr(nights, "forget_lock", _full)
        with pytest.raises(TransientError):
            vigil(stage.shop)
    assert keeper.asked == [True, False]
    forgotten: list[str] = []
    monkeypatch.setattr(nights, "forget_lock", lambda store, name: forgotten.append(name))
    vigil(stage.shop)
    vigil(stage.shop)
    assert (keeper.asked, forgotten) == ([True, False], ["night"])


def _full(*_: object) -> None:
    raise TransientError("database-full", "no room")
