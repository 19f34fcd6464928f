"""Cleaning up where something cannot be believed or saved: then it stays, with all that it needs."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from autopilot.daemon import acts, leftovers
from autopilot.daemon.gc import mirrors, refusals, removing, sweep
from autopilot.daemon.gc.__main__ import main
from autopilot.daemon.gc.report import Report
from autopilot.runner.salvage import salvages
from autopilot.schemas.run import Outcome, RunSpec
from tests.support.gitcmd import git
from tests.support.repos import make_repo
from tests.support.yard import DAY_S, Yard


def cancelled(yard: Yard, spec: RunSpec) -> None:
    """Its ticket is final, and has been for longer than anything is kept."""
    yard.end(spec, Outcome.ASKED)
    acts.cancel(yard.stage.store, spec.ticket_id, by="test")
    yard.stage.clock.advance(8 * DAY_S)


def reasons(told: Report) -> dict[str, str]:
    return {deed.item.kind: deed.told for deed in told.failed}


def with_a_submodule(yard: Yard, tmp_path: Path) -> tuple[RunSpec, Path, str]:
    """A run that committed in a submodule of its worktree what nobody else has."""
    inner = make_repo(tmp_path / "inner")
    git(yard.repo.checkout, "submodule", "add", "-q", inner.url, "vendor")
    git(yard.repo.checkout, "commit", "-q", "-m", "A submodule")
    git(yard.repo.checkout, "push", "-q", "origin", "HEAD:main")
    spec = yard.run()
    git(spec.worktree, "submodule", "update", "-q", "--init")
    vendor = spec.worktree / "vendor"
    (vendor / "work.txt").write_text("paid for")
    git(vendor, "add", "-A")
    git(vendor, "commit", "-q", "-m", "Only here")
    return spec, vendor, git(vendor, "rev-parse", "HEAD")


@pytest.mark.field_report("GIT-005")
def test_the_repositories_of_a_worktree_that_had_to_stay_stay_with_it(yard: Yard, tmp_path: Path) -> None:
    spec, vendor, sha = with_a_submodule(yard, tmp_path)
    yard.publish(spec)
    for _ in range(3):
        yard.stage.clock.advance(8 * DAY_S)
        told = yard.sweep(apply=True)
        assert "the submodule vendor has commits of its own" in reasons(told)["worktree"]
        assert "is there, and goes first" in reasons(told)["run-repositories"]
        assert git(vendor, "cat-file", "-t", sha) == "commit"


def test_commits_in_a_submodule_outlive_the_worktree_that_somebody_removed(
    yard: Yard, tmp_path: Path
) -> None:
    spec, vendor, sha = with_a_submodule(yard, tmp_path)
    cancelled(yard, spec)
    shutil.rmtree(spec.worktree)
    told = yard.sweep(apply=True)
    assert "has commits of its own" in reasons(told)["run-repositories"]
    module = spec.run_dir / "repo.git" / "worktrees" / spec.worktree.name / "modules" / vendor.name
    assert git(module, "--work-tree=.", "cat-file", "-t", sha) == "commit"


def test_a_submodule_whose_commits_are_all_published_holds_nothing_up(yard: Yard, tmp_path: Path) -> None:
    spec, vendor, _ = with_a_submodule(yard, tmp_path)
    git(vendor, "checkout", "-q", "HEAD~1")
    git(vendor, "branch", "-q", "-f", "main", "HEAD")
    cancelled(yard, spec)
    assert [yard.sweep(apply=True).failed, yard.sweep(apply=True).failed] == [[], []]
    assert not spec.worktree.exists()
    assert not (spec.run_dir / "repo.git").exists()


@pytest.mark.parametrize("record", ["damaged", "of another ticket", "missing"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_run_whose_record_cannot_be_believed_keeps_its_repositories(
    yard: Yard, record: str, is_known: bool
) -> None:
    spec = yard.run()
    git(spec.worktree, "commit", "-q", "-am", "Mine")
    sha = git(spec.worktree, "rev-parse", "HEAD")
    shutil.rmtree(spec.worktree)
    run_dir, file = spec.run_dir, spec.run_dir / "worktree.json"
    text = file.read_text()
    if record == "missing":
        file.unlink()
    else:
        file.write_text("{" if record == "damaged" else text.replace('"T-1"', '"T-2"'))
    cancelled(yard, spec)
    if not is_known:
        run_dir = _forgotten(yard, spec)
    told = yard.sweep(apply=True)
    assert "cannot be believed" in reasons(told)["run-repositories" if is_known else "orphan-run"]
    assert git(run_dir / "repo.git", "cat-file", "-t", sha) == "commit"
    if record != "damaged" or not is_known:
        return
    file.write_text(text)
    yard.stage.clock.advance(8 * DAY_S)
    assert yard.sweep(apply=True).failed == []
    assert [one.agent_commits for one in salvages(yard.stage.paths.salvage / "T-1")] == [(sha,)]


def _forgotten(yard: Yard, spec: RunSpec) -> Path:
    """As if the queue had been restored from before the run."""
    lost = spec.run_dir.rename(yard.stage.paths.runs / "T-9-a1-00000001")
    told = spec.model_copy(update={"run_id": lost.name, "run_dir": lost, "ticket_id": "T-9"})
    (lost / "spec.json").write_text(told.model_dump_json())
    yard.stage.clock.advance(3650 * DAY_S)
    return lost


def test_a_run_that_never_had_a_repository_needs_no_record(yard: Yard) -> None:
    spec = yard.run()
    for path in (spec.worktree, spec.run_dir / "repo.git"):
        shutil.rmtree(path)
    (spec.run_dir / "worktree.json").unlink()
    (spec.run_dir / "home").mkdir(exist_ok=True)
    cancelled(yard, spec)
    assert yard.sweep(apply=True).failed == []
    assert not (spec.run_dir / "home").exists()


def test_what_waits_for_the_operators_leave_is_not_tidied_away_beside_an_open_pull_request(
    yard: Yard,
) -> None:
    waits = yard.run("One")
    (waits.worktree / "secret.local").write_text("ignored, and nowhere else")
    cancelled(yard, waits)
    opened = yard.run("Two")
    yard.publish(opened)
    assert [deed.item.path for deed in sweep.tidy(yard.stage.desk())] == [opened.worktree]
    assert not opened.worktree.exists()
    assert (waits.worktree / "secret.local").exists()


def test_on_a_full_disk_a_worktree_gets_its_name_back_and_the_sweep_goes_on(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = yard.run("One"), yard.run("Two")
    for spec in (first, second):
        yard.publish(spec)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(refusals, "write_atomically", full)
        patch.setattr(removing, "copy_artifacts", full)
        told = yard.sweep(apply=True)
    assert [deed.item.path for deed in told.failed] == [first.worktree, second.worktree]
    assert all("No space left" in deed.told for deed in told.failed)
    assert (first.worktree / "answer.txt").read_text() == "right\n"
    assert yard.sweep(apply=True).failed == []
    assert not first.worktree.exists()


def test_a_fault_inside_a_clean_up_is_not_told_as_another_clean_up(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), sweep.claimed(tmp_path):
        raise BlockingIOError(errno.EAGAIN, "of something else")


def test_the_nightly_clean_up_packs_mirrors_also_where_it_removes_nothing(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = yard.run()
    yard.publish(spec)
    mirror, paths = spec.repo.mirror, yard.stage.paths
    monkeypatch.setattr(mirrors, "LOOSE_FROM", 1)
    monkeypatch.setattr("autopilot.daemon.gc.sweep.step_back", lambda: None)
    for number in range(3):
        (yard.stage.paths.state / "blob").write_text(str(number))
        git(mirror, "hash-object", "-w", str(yard.stage.paths.state / "blob"))
    assert not yard.stage.settings.gc.auto_delete
    assert main(["nightly", str(paths.state), str(paths.config_file), str(paths.logs)]) == 0
    counted = git(mirror, "count-objects")
    assert counted.startswith("0 objects")
    assert spec.worktree.exists()


def test_copies_of_logs_go_with_the_logs_and_what_was_saved_of_the_work_stays(yard: Yard) -> None:
    spec = yard.run()
    (spec.run_dir / "runner.log").write_text("said\n")
    yard.publish(spec)
    assert yard.sweep(apply=True).failed == []
    place = yard.stage.paths.salvage / "T-1"
    copy = place / "artifacts" / spec.run_id
    elsewhere = yard.stage.paths.salvage.parent / "elsewhere" / spec.run_id
    elsewhere.mkdir(parents=True)
    (yard.stage.paths.salvage / "T-2").mkdir()
    (yard.stage.paths.salvage / "T-2" / "artifacts").symlink_to(elsewhere.parent)
    yard.stage.clock.advance(31 * DAY_S)
    for logs_days, is_kept in ((40, True), (30, False)):
        before_ms = yard.stage.clock.now_ms() - round(logs_days * DAY_S * 1000)
        moments = {"logs_before_ms": before_ms, "files_before_ms": 0}
        assert sum(leftovers.clear(yard.stage.store, yard.stage.paths, **moments)) >= (not is_kept)
        assert copy.exists() is is_kept
    assert elsewhere.is_dir()
    [saved] = salvages(place)
    assert saved.bundle is not None
    assert saved.bundle.exists()
