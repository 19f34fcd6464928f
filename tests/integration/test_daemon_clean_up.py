"""The real daemon: worktrees are tidied away after the draft, and work of a killed run is saved first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from autopilot.runner.salvage import salvages
from autopilot.runner.state import read_state
from autopilot.schemas.events import Event
from tests.support.gitcmd import git
from tests.support.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.clean_up()


@pytest.mark.slow
@pytest.mark.covers("S01", "S02", "S08")
def test_after_the_draft_the_worktree_goes_and_the_run_says_when_and_where_its_artefacts_are(
    house: House,
) -> None:
    house.begin()
    name = house.add()
    house.daemon.wait_for_state(name, "published")
    removed = house.daemon.wait_for_event(Event.WORKTREE_REMOVED, {"ticket": name})
    assert not house.paths.worktree(name).exists()
    [run_dir] = house.paths.runs.iterdir()
    state = read_state(run_dir / "agent-state.json")
    assert state.worktree_removed_at is not None
    assert (Path(str(state.artifacts_path)) / "events.jsonl").is_file()
    assert removed["run"] == run_dir.name
    assert "worktree: tidied away at" in house.daemon.autopilot("show", name).stdout
    assert "+" in house.daemon.autopilot("review", name).stdout
    house.assert_in_order()


@pytest.mark.slow
@pytest.mark.field_report("GIT-015", "AGT-042")
def test_edits_of_a_run_killed_with_its_daemon_are_saved_told_and_carried_on(
    house: House, tmp_path: Path
) -> None:
    project = house.repo.project
    swap = {"path": project.broken_path, "old": project.broken_text, "new": project.fixed_text}
    half: list[dict[str, object]] = [
        {"replace": swap},
        {"write": {"path": "half.txt", "text": "200 lines\n"}},
        {"say": "edited"},
    ]
    house.add_agent("twice", [*half, {"hang": True}])
    house.begin()
    name = house.add(agent="twice")
    house.wait_for_journal(Event.AGENT_SPOKE)
    house.kill_runner()
    house.daemon.kill()
    (tmp_path / "twice.yaml").write_text(yaml.safe_dump({"rounds": [[{"say": "I go on"}]]}))
    house.daemon.start()
    house.wait_for_journal(Event.WORK_SALVAGED)
    ticket = house.daemon.wait_for_state(name, "published", "parked", "failed")
    assert ticket["state"] == "published", ticket
    [saved] = [one for one in salvages(house.paths.salvage / name) if one.ref and one.reason.endswith("lost")]
    assert sorted(saved.files) == sorted(["half.txt", project.broken_path])
    assert git(house.repo.remote, "show", f"{ticket['head']}:half.txt") == "200 lines"
    for command in ("show", "why"):
        assert f"saved work of {saved.run_id}" in house.daemon.autopilot(command, name).stdout
    house.assert_in_order()
