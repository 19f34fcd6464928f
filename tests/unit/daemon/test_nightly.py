"""The digest falls due by the clock on the wall, however long the machine slept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon.nightly import write_digest_if_due
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


def digests(stage: Stage) -> list[str]:
    return sorted(file.name for file in stage.paths.digests.glob("*.md"))


def test_the_first_daemon_of_all_writes_none_for_a_night_that_was_not_its_own(stage: Stage) -> None:
    due_ms = write_digest_if_due(stage.shop)
    assert due_ms == stage.clock.now_ms() + (7 * 60 + 30) * 60_000
    assert digests(stage) == []


@pytest.mark.covers("G04")
def test_it_is_written_when_it_falls_due_and_only_once(stage: Stage) -> None:
    write_digest_if_due(stage.shop)
    stage.clock.advance(7.5 * 3600)
    for _ in range(3):
        write_digest_if_due(stage.shop)
    assert digests(stage) == ["2026-01-02.md"]
    assert write_digest_if_due(stage.shop) == stage.clock.now_ms() + 24 * 3_600_000


def test_missed_mornings_become_one_digest_at_the_next_chance(stage: Stage) -> None:
    write_digest_if_due(stage.shop)
    stage.clock.jump_wall(5 * 24 * 3600)
    write_digest_if_due(stage.shop)
    write_digest_if_due(stage.shop)
    assert digests(stage) == ["2026-01-07.md"]


def test_a_clock_set_back_writes_no_second_digest(stage: Stage) -> None:
    write_digest_if_due(stage.shop)
    stage.clock.advance(8 * 3600)
    write_digest_if_due(stage.shop)
    written = stage.paths.digests / digests(stage)[0]
    before = written.stat().st_ino
    stage.clock.jump_wall(-2 * 3600)
    write_digest_if_due(stage.shop)
    stage.clock.jump_wall(2 * 3600)
    write_digest_if_due(stage.shop)
    assert digests(stage) == [written.name]
    assert written.stat().st_ino == before
