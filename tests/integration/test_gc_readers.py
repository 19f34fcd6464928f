"""When a worktree or a run's folder is gone, every reader finds the saved copy or says why there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.config.removal import remove_tree
from autopilot.daemon import desk as verbs
from autopilot.daemon import review, view
from autopilot.runner.salvage import salvages
from autopilot.runner.state import read_state
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from tests.support.cli import Cli
from tests.support.shop import Stage
from tests.support.small_project import small_repo
from tests.support.yard import DAY_S, Yard


@pytest.mark.covers("S06")
def test_a_missing_worktree_is_tidied_away_or_broken_and_the_ticket_says_which(
    yard: Yard, tmp_path: Path
) -> None:
    spec = yard.run()
    told = verbs.show(yard.stage.desk(), "T-1")["worktree"]
    assert (told["told"], told["is_there"]) == ("there", True)
    yard.publish(spec)
    yard.sweep(apply=True)
    told = verbs.show(yard.stage.desk(), "T-1")["worktree"]
    assert told["told"].startswith("tidied away at 20")
    other = yard.run("Another")
    yard.end(other, Outcome.ASKED)
    remove_tree(other.worktree)
    assert "nobody wrote down" in verbs.show(yard.stage.desk(), "T-2")["worktree"]["told"]
    cli = Cli(tmp_path / "home")
    assert "worktree: tidied away at" in cli.ok("show", "T-1")
    assert "worktree: missing, and nobody wrote down" in cli.ok("show", "T-2")


@pytest.mark.covers("S04")
def test_log_and_diff_are_read_from_the_saved_copy_once_the_run_is_gone(yard: Yard, tmp_path: Path) -> None:
    spec = yard.run()
    (spec.run_dir / "events.jsonl").write_text('{"ts": 1, "event": "run.started", "run": "x"}\n')
    yard.publish(spec)
    yard.sweep(apply=True)
    yard.stage.clock.advance(8 * DAY_S)
    yard.sweep(apply=True)
    assert not (spec.run_dir / "judge.git").exists()
    remove_tree(spec.run_dir)
    assert "+right" in review.one(yard.stage.desk(), "T-1")["diff"]
    cli = Cli(tmp_path / "home")
    assert "run.started" in cli.ok("logs", "T-1", "--json")
    shown = cli.ok("show", "T-1")
    assert "worktree: tidied away at" in shown
    assert "artefacts: " in shown


@pytest.mark.field_report("GIT-015")
def test_saved_work_is_named_with_the_command_that_brings_it_back(yard: Yard, tmp_path: Path) -> None:
    spec = yard.run()
    yard.publish(spec)
    yard.sweep(apply=True)
    [row] = view.why(yard.stage.desk(), "T-1")["saved_work"]
    assert (row["run_id"], row["changed_files"]) == (spec.run_id, 1)
    cli = Cli(tmp_path / "home")
    for command in ("show", "why"):
        told = cli.ok(command, "T-1")
        assert f"saved work of {spec.run_id}: 1 files" in told
        assert f"git fetch {row['bundle']}" in told


@pytest.mark.covers("G01", "G03")
def test_the_command_lists_first_and_removes_only_when_told_to(yard: Yard, tmp_path: Path) -> None:
    spec = yard.run()
    yard.publish(spec)
    cli = Cli(tmp_path / "home")
    told = cli.ok("gc")
    assert "May go: 1 run-repositories, 1 worktree" in told
    assert spec.worktree.is_dir()
    assert '"is_applied": true' in cli.ok("gc", "--apply", "--json")
    assert not spec.worktree.exists()


@pytest.mark.covers("G03")
@pytest.mark.parametrize("is_on", [False, True])
def test_the_nightly_clean_up_removes_only_where_the_operator_set_it(tmp_path: Path, *, is_on: bool) -> None:
    from autopilot.daemon.gc.__main__ import main

    stage = Stage(tmp_path / "home", config="gc = { auto_delete = true }\n" if is_on else "")
    yard = Yard(stage, small_repo(tmp_path / "theirs"))
    spec = yard.run()
    yard.publish(spec)
    places = (str(stage.paths.state), str(stage.paths.config_file), str(stage.paths.logs))
    assert main(("nightly", *places)) == 0
    assert spec.worktree.exists() is not is_on
    assert len(list(stage.paths.reports.glob("gc-report-*.json"))) == 1
    assert main(("tidy", *places)) == 0
    assert not spec.worktree.exists()
    stage.store.close()


@pytest.mark.field_report("GIT-023")
def test_the_digest_tells_how_large_the_mirrors_are_and_what_could_be_cleaned_up(yard: Yard) -> None:
    from autopilot.daemon.digest import gather

    spec = yard.run()
    yard.publish(spec)
    desk = yard.stage.desk()
    assert "## Disk" not in gather.write(desk.store, desk.paths, desk.settings, desk.clock).read_text()
    yard.sweep()
    text = gather.write(desk.store, desk.paths, desk.settings, desk.clock).read_text()
    assert "shop 0." in text[text.index("## Disk") :]
    assert "1 to clean up" in text
    [report] = yard.stage.paths.reports.glob("gc-report-*.json")
    report.with_name("gc-report-99991231T000000Z.json").write_text("{")  # the clock was ahead
    assert "## Disk" in gather.write(desk.store, desk.paths, desk.settings, desk.clock).read_text()
    report.write_text("{")
    assert "## Disk" not in gather.write(desk.store, desk.paths, desk.settings, desk.clock).read_text()


@pytest.mark.covers("S02")
def test_before_a_worktree_goes_logs_reports_and_the_diff_of_a_run_are_copied_out(yard: Yard) -> None:
    spec = yard.run()
    kept = {
        "events.jsonl": "{}\n",
        "agent-1.log": "what the agent said",
        "prompt-1.md": "what it was told",
        "gates/1/build.log": "what the build said",
        "gates/1/tests.xml": "<testsuite/>",
        ".pipeline/phases.json": "{}",
        ".pipeline/triage/output.md": "triage",
    }
    for name, text in kept.items():
        file = (spec.worktree if name.startswith(".pipeline") else spec.run_dir) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    yard.publish(spec)
    yard.sweep(apply=True)
    assert not spec.worktree.exists()
    state = read_state(spec.run_dir / "agent-state.json")
    copied = Path(str(state.artifacts_path))
    assert {name: (copied / name).read_text() for name in kept} == kept
    assert read_state(copied / "agent-state.json").run_id == spec.run_id
    [saved] = salvages(yard.stage.paths.salvage / "T-1")
    assert saved.patch is not None
    assert "+right" in saved.patch.read_text()
    assert "answer.txt" in saved.files


@pytest.mark.covers("S04", "S06")
def test_status_log_and_resume_take_a_tidied_ticket_for_finished_and_one_without_a_removal_for_broken(
    yard: Yard, tmp_path: Path
) -> None:
    tidied, broken = yard.run(), yard.run("Another")
    for spec in (tidied, broken):
        line = {"ts": 1, "event": "run.started", "run": spec.run_id}
        (spec.run_dir / "events.jsonl").write_text(json.dumps(line) + "\n")
    yard.publish(tidied)
    yard.end(broken, Outcome.ASKED)
    yard.sweep(apply=True)
    remove_tree(broken.worktree)
    remove_tree(tidied.run_dir)
    cli = Cli(tmp_path / "home")
    for name, spec in (("T-1", tidied), ("T-2", broken)):
        assert spec.run_id in cli.told("logs", name, "--json")
    status = json.loads(cli.told("status", "--json"))
    assert [one["id"] for one in status["parked"]] == ["T-2"]
    refused = cli.call("resume", "T-1", "--json")
    [why] = refused.json()["refused"]
    assert (refused.code, why["code"]) == (ExitCode.REFUSED, "not-parked")
    assert "T-1 is published" in why["what"]
    assert "nobody wrote down" in cli.told("show", "T-2")
    cli.told("resume", "T-2")
    assert yard.stage.state("T-2") is State.QUEUED
    assert yard.stage.state("T-1") is State.PUBLISHED
