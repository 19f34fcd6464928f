"""Cleaning up against resistance: refusals, races, kills in the middle, left-overs of others."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config import procinfo
from autopilot.daemon import acts
from autopilot.daemon.demo.stage import MARK
from autopilot.daemon.gc import refusals, removing, standing, sweep
from autopilot.daemon.gc import survey as look
from autopilot.daemon.gc.item import Item
from autopilot.runner.salvage import salvages
from autopilot.schemas.errors import RefusedError
from autopilot.schemas.run import Outcome
from tests.support.gitcmd import git
from tests.support.repos import make_repo
from tests.support.yard import DAY_S, Yard, kinds, why


@pytest.mark.field_report("GIT-005")
def test_what_cannot_be_saved_stays_is_told_once_and_is_not_tried_at_every_sweep(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = make_repo(tmp_path / "inner")
    git(yard.repo.checkout, "submodule", "add", "-q", inner.url, "vendor")
    git(yard.repo.checkout, "commit", "-q", "-m", "A submodule")
    git(yard.repo.checkout, "push", "-q", "origin", "HEAD:main")
    spec = yard.run()
    git(spec.worktree, "submodule", "update", "-q", "--init")
    (spec.worktree / "vendor" / "scratch.txt").write_text("nowhere else")
    yard.publish(spec)
    tried: list[Path] = []
    save = removing._save  # noqa: SLF001 - how often it is tried

    def counted(desk: object, item: Item, *, folder: Path | None) -> None:
        tried.append(item.path)
        save(desk, item, folder=folder)  # type: ignore[arg-type]

    monkeypatch.setattr(removing, "_save", counted)
    first = yard.sweep(apply=True)
    second = yard.sweep(apply=True)
    assert [deed.is_news for deed in (*first.failed, *second.failed)] == [True, False]
    assert "the submodule vendor has changes" in first.failed[0].told
    assert "tried again after" in second.failed[0].told
    assert len(tried) == 1
    assert (spec.worktree / "vendor" / "scratch.txt").read_text() == "nowhere else"
    (spec.worktree / "vendor" / "scratch.txt").unlink()
    yard.stage.clock.advance(1.1 * DAY_S)
    assert yard.sweep(apply=True).failed == []
    assert not spec.worktree.exists()


def test_a_wait_doubles_with_each_refusal_up_to_a_month(tmp_path: Path) -> None:
    known = refusals.Refusals(tmp_path)
    day_ms = round(DAY_S * 1000)
    now_ms = 0
    waits = []
    for _ in range(8):
        assert known.resting(tmp_path / "T-1", now_ms) is None
        known.note(tmp_path / "T-1", "it is held", now_ms)
        resting = refusals.Refusals(tmp_path).resting(tmp_path / "T-1", now_ms)
        assert resting is not None
        waits.append((resting.next_ms - now_ms) // day_ms)
        now_ms = resting.next_ms
    assert waits == [1, 2, 4, 8, 16, 32, 32, 32]
    (tmp_path / refusals.FILE).write_text("{")
    assert refusals.Refusals(tmp_path).resting(tmp_path / "T-1", now_ms) is None


def test_a_ticket_that_was_retried_meanwhile_keeps_its_worktree(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = yard.run()
    yard.end(spec, Outcome.ASKED)
    acts.cancel(yard.stage.store, "T-1", by="test")
    yard.stage.clock.advance(8 * DAY_S)
    looked = look.survey

    def then_retried(desk: object) -> list[Item]:
        found = looked(desk)  # type: ignore[arg-type]
        acts.retry(yard.stage.store, "T-1", by="test")
        return found

    monkeypatch.setattr(sweep, "survey", then_retried)
    told = yard.sweep(apply=True)
    assert [deed.told for deed in told.failed if deed.item.kind == "worktree"]
    assert (spec.worktree / "answer.txt").read_text() == "right\n"
    assert (spec.run_dir / "repo.git").is_dir()


@pytest.mark.parametrize("step", ["saved", "set-aside", "half-deleted"])
def test_a_clean_up_that_was_killed_in_the_middle_is_finished_by_the_next(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    spec = yard.run()
    yard.publish(spec)

    class KilledError(BaseException):
        """As if the process had ended here."""

    def killed(*_: object, **__: object) -> None:
        raise KilledError

    def half(path: Path) -> int:
        (path / "answer.txt").unlink()
        raise KilledError

    with monkeypatch.context() as patch:
        if step == "half-deleted":
            patch.setattr(removing, "remove_tree", half)
        else:
            name = "copy_artifacts" if step == "saved" else "remove_tree"
            patch.setattr(removing, name, killed)
        with pytest.raises(KilledError):
            yard.sweep(apply=True)
    assert not spec.worktree.exists()
    assert yard.sweep(apply=True).failed == []
    left = [path for path in yard.stage.paths.worktrees.rglob("*") if path.name == "answer.txt"]
    assert left == []
    [saved] = salvages(yard.stage.paths.salvage / "T-1")
    assert "answer.txt" in saved.files


def test_a_run_that_the_queue_has_forgotten_goes_after_a_while_with_its_work_saved(yard: Yard) -> None:
    spec = yard.run()
    lost = yard.stage.paths.runs / "T-9-a1-00000001"
    spec.run_dir.rename(lost)
    told = spec.model_copy(update={"run_id": lost.name, "run_dir": lost, "ticket_id": "T-9"})
    (lost / "spec.json").write_text(told.model_dump_json())
    record = json.loads((lost / "worktree.json").read_text())
    (lost / "worktree.json").write_text(json.dumps({**record, "run_id": lost.name, "ticket_id": "T-9"}))
    yard.stage.clock.advance(3650 * DAY_S)
    assert "its worktree is there" in why(yard, lost)
    forgotten = spec.worktree.rename(spec.worktree.with_name("T-9"))
    git(lost / "repo.git", "update-ref", "refs/heads/mine", _commit(lost / "repo.git"))
    assert yard.sweep(apply=True).failed == []
    assert not forgotten.exists()
    assert yard.sweep(apply=True).failed == []
    assert not lost.exists()
    saved = salvages(yard.stage.paths.salvage / "T-9")
    assert {name for one in saved for name in one.files} == {"answer.txt"}
    assert {len(one.agent_commits) for one in saved} == {1}


def _commit(repository: Path) -> str:
    return git(repository, "commit-tree", "-m", "Only here", "-p", "origin/main", "origin/main^{tree}")


def test_leftovers_of_a_killed_writer_and_of_an_old_demo_go(yard: Yard, tmp_path: Path) -> None:
    paths, now_s = yard.stage.paths, yard.stage.clock.now_ms() / 1000
    old, young = paths.pr_requests / ".a.json.x.part", paths.pr_requests / ".b.json.y.part"
    for path, age_s in ((old, 2 * DAY_S), (young, 60)):
        path.touch()
        os.utime(path, (now_s - age_s, now_s - age_s))
    demo = tmp_path / "demo"
    (demo / "project").mkdir(parents=True)
    (demo / MARK).touch()
    os.utime(demo / MARK, (now_s - 8 * DAY_S, now_s - 8 * DAY_S))
    told = yard.sweep(apply=True, demo=demo)
    assert kinds(told.removable) == [("demo", "demo"), ("staging", old.name)]
    assert (old.exists(), young.exists(), demo.exists()) == (False, True, False)
    demo.mkdir()
    (demo / "mine").touch()
    assert yard.sweep(apply=True, demo=demo).removable == []
    assert (demo / "mine").exists()


@pytest.mark.parametrize("place", ["drafts/bill", "forge/bill", "salvage/T-1", "digests", "."])
def test_what_a_killed_writer_left_goes_wherever_it_wrote(yard: Yard, place: str) -> None:
    folder, now_s = yard.stage.paths.state / place, yard.stage.clock.now_ms() / 1000
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / ".spec.json.x.part"
    part.touch()
    os.utime(part, (now_s - 2 * DAY_S, now_s - 2 * DAY_S))
    yard.sweep(apply=True)
    assert not part.exists()


def test_a_given_up_queue_is_listed_and_stays(yard: Yard) -> None:
    folder = yard.stage.paths.state / "damaged-2026-01-02T000000Z"
    folder.mkdir()
    yard.sweep(apply=True)
    assert "a person removes it" in why(yard, folder)


def test_two_clean_ups_do_not_run_at_once(yard: Yard) -> None:
    with sweep.claimed(yard.stage.paths.state), pytest.raises(RefusedError, match="under way"):
        yard.sweep()


def test_a_run_that_the_queue_has_forgotten_stays_while_a_process_of_it_lives(yard: Yard) -> None:
    spec = yard.run()
    lost = spec.run_dir.rename(yard.stage.paths.runs / "T-9-a1-00000001")
    told = spec.model_copy(update={"run_id": lost.name, "run_dir": lost, "ticket_id": "T-9"})
    (lost / "spec.json").write_text(told.model_dump_json())
    yard.stage.clock.advance(3650 * DAY_S)
    argv = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    env = procinfo.marked({}, lost.name)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert "a process of that run is alive" in why(yard, lost)


def test_processes_are_looked_at_while_nobody_waits_for_the_queue(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = yard.run()
    lost = spec.run_dir.rename(yard.stage.paths.runs / "T-9-a1-00000001")
    record = json.loads((lost / "worktree.json").read_text())
    (lost / "worktree.json").write_text(json.dumps({**record, "run_id": lost.name, "ticket_id": "T-9"}))
    forgotten = spec.worktree.rename(spec.worktree.with_name("T-9"))
    yard.stage.clock.advance(3650 * DAY_S)
    looks: list[bool] = []

    def is_alive(_: Path) -> bool:
        with closing(sqlite3.connect(yard.stage.store.database, timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")  # else: database is locked
        looks.append(True)
        return len(looks) == 2  # after the survey, before anything is taken away

    with monkeypatch.context() as patch:
        patch.setattr(standing, "has_processes", is_alive)
        [kept] = yard.sweep(apply=True).failed
    assert (len(looks) >= 2, kept.told) == (True, f"a process of {lost.name} is alive")
    assert forgotten.exists()
    assert yard.sweep(apply=True).failed == []
    assert not forgotten.exists()
