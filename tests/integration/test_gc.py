"""Cleaning up: what is listed, what goes, and above all what stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from autopilot.config import removal
from autopilot.daemon import acts
from autopilot.daemon.gc import artifacts
from autopilot.runner.salvage import salvages
from autopilot.runner.state import read_state
from autopilot.runner.worktree import TRASH, move_to_trash
from autopilot.schemas.run import Outcome
from tests.support.gitcmd import git
from tests.support.yard import DAY_S, Yard, kinds, why


@pytest.mark.covers("G01")
def test_by_default_nothing_goes_and_the_report_says_what_could_in_two_files(yard: Yard) -> None:
    spec = yard.run()
    yard.publish(spec)
    before = sorted(yard.stage.paths.state.rglob("answer.txt"))
    told = yard.sweep()
    assert sorted(yard.stage.paths.state.rglob("answer.txt")) == before
    assert kinds(told.removable) == [("worktree", "T-1")]
    assert ("run-repositories", spec.run_dir.name) in kinds(told.kept)
    [as_json] = yard.stage.paths.reports.glob("gc-report-*.json")
    [as_text] = yard.stage.paths.reports.glob("gc-report-*.md")
    assert as_json.stem == as_text.stem
    document = json.loads(as_json.read_text())
    [listed] = document["removable"]
    assert (listed["path"], listed["ticket"], listed["run"]) == (str(spec.worktree), "T-1", spec.run_id)
    assert listed["size_bytes"] > 0
    assert "its pull request is open" in listed["why"]
    assert str(spec.worktree) in as_text.read_text()


@pytest.mark.covers("G03", "S01", "S02")
def test_applied_the_worktree_goes_with_its_work_saved_and_the_time_written_down(yard: Yard) -> None:
    spec = yard.run()
    (spec.worktree / ".pipeline" / "round-1").mkdir(parents=True)
    (spec.worktree / ".pipeline" / "round-1" / "triage.json").write_text("{}")
    (spec.run_dir / "runner.log").write_text("said\n")
    yard.publish(spec)
    told = yard.sweep(apply=True)
    assert told.failed == []
    assert not spec.worktree.exists()
    assert removal.waiting(yard.stage.paths.worktrees / TRASH) == []
    state = read_state(spec.run_dir / "agent-state.json")
    assert state.worktree_removed_at is not None
    artifacts = Path(str(state.artifacts_path))
    assert (artifacts / "runner.log").read_text() == "said\n"
    assert read_state(artifacts / "agent-state.json").worktree_removed_at is not None
    [saved] = salvages(yard.stage.paths.salvage / "T-1")
    assert "answer.txt" in saved.files
    assert yard.sweep(apply=True).removable == []


@pytest.mark.covers("S03")
def test_the_pipeline_folder_is_copied_whole_with_every_round(yard: Yard) -> None:
    spec = yard.run()
    for number in range(3):
        folder = spec.worktree / ".pipeline" / f"round-{number}" / "deep"
        folder.mkdir(parents=True)
        (folder / "triage-output.json").write_text(str(number))
    (spec.worktree / ".pipeline" / "link").symlink_to("/etc/hostname")
    os.mkfifo(spec.worktree / ".pipeline" / "pipe")
    yard.publish(spec)
    yard.sweep(apply=True)
    artifacts = Path(str(read_state(spec.run_dir / "agent-state.json").artifacts_path))
    kept = sorted(str(path.relative_to(artifacts)) for path in (artifacts / ".pipeline").rglob("*.json"))
    assert kept == [f".pipeline/round-{number}/deep/triage-output.json" for number in range(3)]
    assert not os.path.lexists(artifacts / ".pipeline" / "link")


@pytest.mark.covers("S08")
@pytest.mark.parametrize("state", ["running", "committed", "publishing", "queued", "parked"])
def test_the_worktree_of_a_ticket_that_may_still_need_it_stays(yard: Yard, state: str) -> None:
    from autopilot.daemon import transitions_publish
    from tests.support import queue

    spec = yard.run()
    store, claim = yard.stage.store, yard.claim_of(spec)
    if state in {"committed", "publishing"}:
        ticket = queue.end(store, claim, queue.result(claim, gates=queue.gates(queue.HEAD)))
        if state == "publishing":
            transitions_publish.begin_publish(store, ticket, base="main", base_sha=queue.BASE)
    elif state == "queued":
        queue.end(store, claim, queue.lost(claim))
    elif state == "parked":
        yard.end(spec, Outcome.ASKED)
    assert yard.stage.state() == state
    yard.stage.clock.advance(100 * DAY_S)
    told = yard.sweep(apply=True)
    assert (spec.worktree / "answer.txt").read_text() == "right\n"
    assert (spec.run_dir / "repo.git").is_dir()
    assert [item for item in told.removable if item.ticket] == []


def test_a_cancelled_tickets_folders_stay_for_a_week_and_then_go_with_their_work_saved(yard: Yard) -> None:
    spec = yard.run()
    git(spec.worktree, "commit", "-q", "-am", "Mine")
    tip = git(spec.worktree, "rev-parse", "HEAD")
    yard.end(spec, Outcome.ASKED)
    acts.cancel(yard.stage.store, "T-1", by="test")
    yard.stage.clock.advance(6 * DAY_S)
    yard.sweep(apply=True)
    assert spec.worktree.is_dir()
    yard.stage.clock.advance(2 * DAY_S)
    told = yard.sweep(apply=True)
    assert told.failed == []
    assert not spec.worktree.exists()
    assert not (spec.run_dir / "repo.git").exists()
    assert (spec.run_dir / "spec.json").exists()
    saved = salvages(yard.stage.paths.salvage / "T-1")[0]
    assert saved.agent_commits == (tip,)
    git(yard.repo.checkout, "fetch", "-q", str(saved.bundle), "refs/*:refs/saved/*")
    assert git(yard.repo.checkout, "show", f"{tip}:answer.txt") == "right"


@pytest.mark.covers("G02")
def test_what_nobody_wrote_down_as_made_by_us_is_never_listed_as_removable(
    yard: Yard, tmp_path: Path
) -> None:
    spec = yard.run()
    yard.publish(spec)
    paths = yard.stage.paths
    (precious := tmp_path / "precious").mkdir()
    (precious / "work").write_text("mine")
    aside = move_to_trash(spec.worktree, "T-1-a9-00000009")
    assert aside is not None
    spec.worktree.mkdir()
    (spec.worktree / ".git").write_bytes((aside / ".git").read_bytes())
    (paths.worktrees / "T-2").symlink_to(precious)
    (paths.worktrees / "my notes").mkdir()
    (paths.worktrees / "T-77").mkdir()
    (paths.runs / "not-a-run").mkdir()
    (paths.runs / "link").symlink_to(precious)
    (paths.worktrees / TRASH / "odd").mkdir()
    yard.stage.clock.advance(100 * DAY_S)
    told = yard.sweep(apply=True)
    assert told.failed == []
    assert (precious / "work").read_text() == "mine"
    for path in ("T-1", "my notes", "T-77"):
        assert (paths.worktrees / path).is_dir()
    assert (paths.runs / "not-a-run").is_dir()
    assert (paths.worktrees / TRASH / "odd").is_dir()
    assert not aside.exists()
    assert "no run of ours" in why(yard, spec.worktree)
    assert "a link" in why(yard, paths.worktrees / "T-2")
    assert "no ticket" in why(yard, paths.worktrees / "my notes")


def test_an_agent_that_filled_its_folder_does_not_fill_the_disk_twice(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = yard.run()
    (spec.worktree / ".pipeline").mkdir()
    for number in range(10):
        (spec.worktree / ".pipeline" / f"{number}").write_bytes(b"x" * 1000)
    monkeypatch.setattr(artifacts, "_MAX_TOTAL_BYTES", 5000)
    monkeypatch.setattr(artifacts, "_MAX_FILE_BYTES", 900)
    yard.publish(spec)
    yard.sweep(apply=True)
    copy = yard.stage.paths.salvage / "T-1" / "artifacts" / spec.run_id
    sizes = [path.stat().st_size for path in (copy / ".pipeline").iterdir()]
    assert 0 < len(sizes) < 10
    assert set(sizes) == {900}
    assert (copy / "agent-state.json").is_file()
