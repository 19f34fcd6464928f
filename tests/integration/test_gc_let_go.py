"""What cannot be saved is told at every clean-up, and goes on a person's word, by name."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from autopilot.daemon import acts
from autopilot.daemon.gc import report, sweep
from autopilot.runner.salvage import salvages
from autopilot.schemas.errors import ExitCode, RefusedError
from autopilot.schemas.run import Outcome, RunSpec
from tests.support.cli import Cli
from tests.support.yard import DAY_S, Yard


def hostile(yard: Yard) -> RunSpec:
    """A run of a ticket with an open pull request; its worktree cannot be saved whole."""
    spec = yard.run()
    os.mkfifo(spec.worktree / ".gitattributes")
    yard.publish(spec)
    return spec


def let_go(yard: Yard, spec: RunSpec) -> list[Path]:
    done = sweep.let_go(yard.stage.desk(), spec.run_id, apply=True)
    assert [deed.told for deed in done if not deed.is_removed] == []
    return [deed.item.path for deed in done]


def names(yard: Yard) -> list[dict[str, object]]:
    files = sorted(yard.stage.paths.reports.glob("let-go-*.json"))
    return [json.loads(file.read_text()) for file in files]


def test_what_tidying_could_not_save_is_told_each_night_by_name_and_with_the_way_out(yard: Yard) -> None:
    spec = hostile(yard)
    assert not yard.stage.settings.gc.auto_delete
    sweep.tidy(yard.stage.desk())
    for _ in range(2):
        yard.stage.clock.advance(40 * DAY_S)
        yard.sweep()
        disk = report.last_count(yard.stage.paths.reports, yard.stage.clock.now_ms())
        assert disk is not None
        [told] = disk.stays
        assert ".gitattributes is a pipe" in told
        assert f"To let go of it: autopilot gc --let-go {spec.run_id}" in told
    assert spec.worktree.exists()
    [saved] = salvages(yard.stage.paths.salvage / spec.ticket_id)
    assert (saved.files, saved.unsaved) == (("answer.txt",), (".gitattributes is a pipe",))


def test_on_a_persons_word_it_goes_and_what_is_lost_is_written_down_first(yard: Yard) -> None:
    spec = hostile(yard)
    yard.sweep(apply=True)
    [before] = sweep.let_go(yard.stage.desk(), spec.run_id, apply=False)
    assert ".gitattributes is a pipe" in before.told
    assert spec.worktree.exists()
    assert let_go(yard, spec)[0] == spec.worktree
    assert not spec.worktree.exists()
    [lost] = names(yard)
    [saved] = salvages(yard.stage.paths.salvage / spec.ticket_id)
    assert (lost["run"], lost["rest"]) == (spec.run_id, str(saved.bundle))
    assert ".gitattributes is a pipe" in str(lost["unsaved"])
    assert yard.sweep(apply=True).failed == []


def test_repositories_that_cannot_be_read_go_too_once_their_time_is_over(yard: Yard) -> None:
    spec = yard.run()
    repository = spec.run_dir / "repo.git"
    (repository / "packed-refs").unlink(missing_ok=True)
    os.mkfifo(repository / "packed-refs")
    shutil.rmtree(spec.worktree)
    yard.end(spec, Outcome.ASKED)
    acts.cancel(yard.stage.store, spec.ticket_id, by="test")
    with pytest.raises(RefusedError, match="kept for"):
        sweep.let_go(yard.stage.desk(), spec.run_id, apply=True)
    yard.stage.clock.advance(8 * DAY_S)
    [failed] = yard.sweep(apply=True).failed
    assert "cannot be read: packed-refs" in failed.told
    let_go(yard, spec)
    assert not repository.exists()
    assert "cannot be read: packed-refs" in str(names(yard)[0]["unsaved"])


def test_a_run_whose_record_cannot_be_believed_can_be_let_go(yard: Yard) -> None:
    spec = yard.run()
    shutil.rmtree(spec.worktree)
    (spec.run_dir / "worktree.json").write_text("{")
    yard.end(spec, Outcome.ASKED)
    acts.cancel(yard.stage.store, spec.ticket_id, by="test")
    yard.stage.clock.advance(8 * DAY_S)
    assert len(yard.sweep(apply=True).failed) == 1
    let_go(yard, spec)
    assert names(yard)[0]["rest"] is None


def test_where_the_loss_cannot_be_written_down_nothing_goes(yard: Yard) -> None:
    spec = hostile(yard)
    shutil.rmtree(yard.stage.paths.reports, ignore_errors=True)
    yard.stage.paths.reports.write_text("no folder")
    [deed, *_] = sweep.let_go(yard.stage.desk(), spec.run_id, apply=True)
    assert not deed.is_removed
    assert (spec.worktree / "answer.txt").read_text() == "right\n"


def test_a_run_that_left_nothing_is_refused_by_name(yard: Yard) -> None:
    with pytest.raises(RefusedError, match="T-9-a1-00000001"):
        sweep.let_go(yard.stage.desk(), "T-9-a1-00000001", apply=True)


def test_the_command_says_what_would_be_lost_and_removes_on_apply(yard: Yard, tmp_path: Path) -> None:
    spec = hostile(yard)
    yard.sweep(apply=True)
    cli = Cli(tmp_path / "home")
    assert ".gitattributes is a pipe" in cli.ok("gc", "--let-go", spec.run_id)
    assert spec.worktree.exists()
    assert cli.call("gc", "--let-go", spec.run_id, "--delete").code == ExitCode.REFUSED
    assert f"{spec.worktree}: removed" in cli.ok("gc", "--let-go", spec.run_id, "--apply")
    assert not spec.worktree.exists()
