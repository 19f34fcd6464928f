"""What a child is told comes from our own records and the operator's configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon import children
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.schemas.publication import ForgeSpec
from tests.support import queue
from tests.support.shop import Stage

GITHUB = """
[[repo]]
name = "far"
url = "https://github.com/o/far.git"
forge = "github"
credential = "far-token"
env_pass = ["COLUMNS"]
"""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    stage.paths.config_file.write_text(stage.paths.config_file.read_text() + GITHUB)
    stage.current.refresh()
    writes.turn_on(stage.store, by="test")
    yield stage
    stage.store.close()


@pytest.mark.covers("B13")
@pytest.mark.parametrize(
    ("source_key", "expected"),
    [
        ("o/r#12", "#12"),
        ("#316", "#316"),
        ("PROJ-12345", "PROJ-12345"),
        ("https://jira.example/browse/PROJ-7", "PROJ-7"),
        ("o/r#0", "fix-the-sum"),
        ("notes/today", "fix-the-sum"),
        (None, "fix-the-sum"),
    ],
)
def test_a_task_is_called_by_its_trackers_key_or_by_its_title(
    stage: Stage, source_key: str | None, expected: str
) -> None:
    queue.add(stage.store, "Fix the sum", source_key=source_key)
    Loop(stage.shop).tick()
    (spec,) = stage.run_specs()
    assert spec.task_id == expected
    stage.commit()
    Loop(stage.shop).tick()
    (told,) = stage.publish_specs()
    assert told.ticket_ref == (expected if source_key and expected != "fix-the-sum" else "T-1")


@pytest.mark.parametrize(
    ("source_key", "expected"),
    [("o/far#12", "#12"), ("O/Far#12", "#12"), ("o/issues#12", "o/issues#12"), ("PROJ-7", "PROJ-7")],
)
def test_an_issue_of_another_project_than_the_drafts_is_called_by_its_whole_name(
    stage: Stage, source_key: str, expected: str
) -> None:
    queue.add(stage.store, repo="far", source_key=source_key)
    Loop(stage.shop).tick()
    stage.commit()
    Loop(stage.shop).tick()
    (told,) = stage.publish_specs()
    assert told.ticket_ref == expected


@pytest.mark.parametrize(
    ("repo", "base", "expected"),
    [
        ("shop", "dev", ("dev", "input")),
        ("shop", None, ("main", "remembered")),
        ("till", None, (None, "default")),
    ],
)
def test_the_base_is_the_tickets_else_the_repositorys_else_asked_of_the_remote(
    stage: Stage, repo: str, base: str | None, expected: tuple[str | None, str]
) -> None:
    queue.add(stage.store, repo=repo, base=base)
    Loop(stage.shop).tick()
    (spec,) = stage.run_specs()
    assert (spec.repo.base, spec.repo.base_source) == expected


@pytest.mark.covers("B11", "N04")
def test_where_a_commit_goes_is_read_from_the_configuration_and_not_from_what_the_run_wrote(
    stage: Stage,
) -> None:
    queue.add(stage.store, repo="far")
    loop = Loop(stage.shop)
    loop.tick()
    run_id = stage.claim_of("T-1").attempt.run_id
    stage.paths.request(run_id).write_text('{"repo_id": "evil", "branch": "main"}')
    stage.commit()
    loop.tick()
    (spec,) = stage.publish_specs()
    assert spec.forge == ForgeSpec(
        kind="github",
        push_url="https://github.com/o/far.git",
        api_url="https://api.github.com",
        project="o/far",
        credential="far-token",
    )
    assert spec.mirror == stage.paths.mirror("far")


def test_a_publisher_and_its_gates_may_take_as_long_as_the_operator_lets_a_run(stage: Stage) -> None:
    with stage.paths.config_file.open("a") as file:
        file.write("[timeouts]\ngate_s = 11\ngit_s = 12\nkill_grace_s = 3\n")
    queue.add(stage.store, repo="shop")
    loop = Loop(stage.shop)
    loop.tick()
    stage.commit()
    loop.tick()
    (spec,) = stage.publish_specs()
    assert (spec.gate_s, spec.git_s, spec.kill_grace_s) == (11, 12, 3)


def test_each_child_gets_the_credential_it_needs_and_not_the_others(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = {"AUTOPILOT_SECRET_FAR_TOKEN": "x1", "GH_TOKEN": "x2", "ANTHROPIC_API_KEY": "x3"}
    others = {"AUTOPILOT_SECRET_NEAR_TOKEN": "x4", "AUTOPILOT_SECRET_TEAM_HOOK": "x5"}
    for name, value in {**secret, **others, "COLUMNS": "80", "EDITOR": "vi"}.items():
        monkeypatch.setenv(name, value)
    queue.add(stage.store, repo="far", agent="reader")
    with stage.paths.config_file.open("a") as file:
        file.write('[agents.reader]\nkind = "claude"\n')
    loop = Loop(stage.shop)
    loop.tick()
    stage.commit()
    loop.tick()
    runner, publisher = (dict(launch.env) for launch in stage.supervisor.launches)
    assert {name for name in secret if name in runner} == {"ANTHROPIC_API_KEY"}
    assert {name for name in secret if name in publisher} == {"AUTOPILOT_SECRET_FAR_TOKEN"}
    for child in (runner, publisher):
        assert not set(others) & set(child)
        assert child["AUTOPILOT_UNATTENDED"] == child["MULTI_AGENT_UNATTENDED"] == "1"
        assert child["AUTOPILOT_RUN_ID"] == stage.claim_of("T-1").attempt.run_id
        assert child["COLUMNS"] == "80"
        assert "EDITOR" not in child


def test_a_childs_backstop_leaves_room_for_every_limit_of_its_own(stage: Stage) -> None:
    limits = stage.settings.limits()
    assert children.backstop_s(limits) > limits.wall_s + limits.rounds * 2 * limits.gate_s + limits.git_s
