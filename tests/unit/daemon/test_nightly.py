"""The digest falls due by the clock on the wall, however long the machine slept."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from autopilot.config.proc import SpawnError
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from tests.support.drafts import Asking, publish_drafts
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


class TestDrafts:
    """What became of the drafts is asked first, so that the digest does not ask for work that is done."""

    @pytest.fixture
    def asking(self, stage: Stage) -> Asking:
        """Drafts in two repositories, and a digest that is due at half past seven."""
        stage.clock.advance(3600)
        write_digest_if_due(stage.shop)
        publish_drafts(stage, 2)
        publish_drafts(stage, 1, repo="till")
        asking = Asking(stage)
        digest = partial(write_digest_if_due, is_ready=asking.drafts.are_told)
        asking.loop = Loop(stage.shop, chores=(asking.drafts, digest))
        return asking

    def test_before_it_is_due_nobody_is_asked(self, stage: Stage, asking: Asking) -> None:
        asking.loop.tick()
        assert asking.supervisor.launches == []

    @pytest.mark.covers("G04")
    @pytest.mark.field_report("PUB-014")
    def test_it_waits_for_the_answers_and_tells_what_was_merged(self, stage: Stage, asking: Asking) -> None:
        stage.clock.advance(6.5 * 3600)
        asking.loop.tick()
        assert [spec.id.partition("-")[0] for spec in asking.specs()] == ["shop", "till"]
        assert digests(stage) == []
        asking.answer(["merged"])
        asking.loop.tick()
        assert digests(stage) == []
        asking.end(nth=0)
        asking.loop.tick()
        (name,) = digests(stage)
        text = (stage.paths.digests / name).read_text()
        assert text.startswith("# Digest")
        assert "2 drafts, 1 merged." in text
        assert "**T-3** Draft 0: merged, https://forge.test/pr/3" in text
        asking.loop.tick()
        assert len(asking.supervisor.launches) == 2

    def test_a_child_that_cannot_even_start_does_not_keep_it_back(self, stage: Stage, asking: Asking) -> None:
        asking.supervisor.fault = lambda launch: SpawnError("spawn-failed", "no more processes")
        stage.clock.advance(6.5 * 3600)
        asking.loop.tick()
        assert len(digests(stage)) == 1

    def test_a_repository_that_is_not_configured_any_more_does_not_keep_it_back(
        self, stage: Stage, asking: Asking
    ) -> None:
        stage.paths.config_file.write_text(stage.paths.config_file.read_text().replace("till", "other"))
        stage.clock.advance(6.5 * 3600)
        asking.loop.tick()
        asking.answer(["open", "open"])
        asking.loop.tick()
        assert len(digests(stage)) == 1

    def test_what_was_asked_just_before_is_not_asked_again(self, stage: Stage, asking: Asking) -> None:
        stage.clock.advance(6.5 * 3600 - 300)
        asking.drafts.are_told(stage.shop, stage.clock.now_ms())
        for nth in (0, 1):
            asking.end(nth=nth)
        stage.clock.advance(300)
        asking.loop.tick()
        assert len(digests(stage)) == 1
        assert len(asking.supervisor.launches) == 2

    def test_no_more_than_two_are_asked_at_once_and_all_before_it_is_written(self, stage: Stage) -> None:
        extra = "".join(
            f'[[repo]]\nname = "more-{each}"\nurl = "https://forge.example/o/m{each}.git"\n'
            for each in range(3)
        )
        stage.paths.config_file.write_text(stage.paths.config_file.read_text() + extra)
        for each in range(3):
            publish_drafts(stage, 1, repo=f"more-{each}")
        write_digest_if_due(stage.shop)
        asking = Asking(stage)
        digest = partial(write_digest_if_due, is_ready=asking.drafts.are_told)
        loop = Loop(stage.shop, chores=(asking.drafts, digest))
        stage.clock.advance(8 * 3600)
        loop.tick()
        assert len(asking.supervisor.launches) == 2
        for nth in (0, 1, 2):
            assert digests(stage) == []
            asking.end(nth=nth)
            loop.tick()
        assert len(asking.supervisor.launches) == 3
        assert len(digests(stage)) == 1
