"""What was saved of worktrees goes by a person's word alone, and nothing goes unnamed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.config import removal
from autopilot.daemon import acts
from autopilot.daemon.gc import salvages as old
from autopilot.runner.salvage import salvages
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.run import Outcome
from tests.support.cli import Cli
from tests.support.yard import DAY_S, Yard


def saved(yard: Yard) -> Path:
    """A published ticket's worktree, saved and gone ten days ago."""
    spec = yard.run()
    (spec.worktree / "report.xml").write_text("ignored")
    yard.publish(spec)
    yard.sweep(apply=True)
    yard.stage.clock.advance(10 * DAY_S)
    [record] = salvages(yard.stage.paths.salvage / spec.ticket_id)
    assert record.bundle is not None
    return record.bundle.parent


def test_old_salvages_are_listed_with_all_that_is_in_them_and_stay_until_told_otherwise(
    yard: Yard, tmp_path: Path
) -> None:
    folder = saved(yard)
    desk = yard.stage.desk()
    assert old.older_than(desk, 11) == []
    [found] = old.older_than(desk, 9)
    assert (found.path, found.stays, found.record.files) == (folder, "", ("answer.txt",))
    assert (found.record.left_out, len(found.commits)) == (("report.xml",), 1)
    cli = Cli(tmp_path / "home")
    told = cli.ok("gc", "--salvages-older-than", "9")
    assert found.commits[0] in told
    assert "changed answer.txt" in told
    assert "ignored, not saved: report.xml" in told
    assert "add --delete" in told
    assert folder.is_dir()


def test_told_so_they_go_and_a_file_names_what_was_in_them(yard: Yard, tmp_path: Path) -> None:
    folder = saved(yard)
    [found] = old.older_than(yard.stage.desk(), 9)
    cli = Cli(tmp_path / "home")
    answer = json.loads(cli.ok("gc", "--salvages-older-than", "9", "--delete", "--json"))
    assert answer["removed"] == [str(folder)]
    assert not folder.exists()
    assert not (folder.parent / removal.ASIDE).exists()
    [named] = json.loads(Path(answer["names"]).read_text())
    assert (named["commits"], named["files"]) == (list(found.commits), ["answer.txt"])
    assert json.loads(cli.ok("gc", "--salvages-older-than", "9", "--delete", "--json"))["found"] == []


def test_what_a_ticket_may_go_on_from_stays_however_old(yard: Yard) -> None:
    spec = yard.run()
    yard.end(spec, Outcome.AGENT_FAILED)
    acts.cancel(yard.stage.store, "T-1", by="test")
    yard.stage.clock.advance(10 * DAY_S)
    told = yard.sweep(apply=True)
    assert (told.failed, spec.worktree.exists()) == ([], False), told.items
    yard.stage.clock.advance(10 * DAY_S)
    assert {one.stays for one in old.older_than(yard.stage.desk(), 5)} == {""}
    acts.retry(yard.stage.store, "T-1", by="test")
    kept = old.older_than(yard.stage.desk(), 5)
    assert {one.stays for one in kept} == {"the ticket is queued and may go on from it"}
    assert old.remove_old(yard.stage.desk(), 5) == ([], None)
    assert all(one.path.is_dir() for one in kept)


def test_a_ticket_that_is_taken_up_in_that_moment_keeps_its_salvage(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(yard)
    answers = iter(["", "the ticket is queued and may go on from it"])
    monkeypatch.setattr(old, "_stays", lambda *_: next(answers))
    assert old.remove_old(yard.stage.desk(), 9)[0] == []
    assert folder.is_dir()


def test_a_removal_that_was_killed_is_finished_by_the_next_clean_up(yard: Yard) -> None:
    gone = removal.begin_removal(saved(yard))
    yard.sweep(apply=True)
    assert not gone.exists()


def test_a_record_that_cannot_be_read_and_a_link_are_nothing_of_ours(yard: Yard, tmp_path: Path) -> None:
    folder = saved(yard)
    (folder.parent / "other").symlink_to(folder)
    (yard.stage.paths.salvage / "T-7").symlink_to(folder.parent)
    assert [one.path for one in old.older_than(yard.stage.desk(), 9)] == [folder]
    (folder / "salvage.json").write_text("{")
    assert old.older_than(yard.stage.desk(), 9) == []
    assert tmp_path.is_dir()


@pytest.mark.parametrize(
    "words",
    [("--delete",), ("--apply", "--salvages-older-than", "9"), ("--salvages-older-than", "0")],
    ids=" ".join,
)
def test_half_of_a_wish_removes_nothing(yard: Yard, tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = saved(yard)
    assert Cli(tmp_path / "home").call("gc", *words).code in {ExitCode.REFUSED, ExitCode.USAGE}
    assert folder.is_dir()
