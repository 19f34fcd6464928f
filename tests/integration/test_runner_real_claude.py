"""Whole runs with the real Claude Code client, its model played on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.run import AgentSpec, Limits, Outcome
from tests.support.fixtures import MakeModel
from tests.support.repos import Repo, make_repo
from tests.support.runs import Host, events_of, run_here
from tests.support.scenarios import library

pytestmark = [
    pytest.mark.needs(binary="node", apt="nodejs"),
    pytest.mark.needs(binary="npm", apt="npm"),
    pytest.mark.timeout(300),
]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    return Host(tmp_path / "state")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


def client(binary: Path) -> AgentSpec:
    return AgentSpec(name="claude", kind="claude", argv=(str(binary),), model="claude-sonnet-4-5")


def test_the_real_client_mends_the_test_and_tells_its_cost(
    host: Host, repo: Repo, make_model: MakeModel, claude_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(library.read_edit_test_finish(repo.project))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    spec = host.spec(repo, client(claude_binary))
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED, (
        result.message,
        (spec.run_dir / "agent-1.log").read_text()[-2000:],
    )
    assert result.denials == ()
    assert result.usage.known
    assert result.usage.cost_micro_usd > 0
    assert result.usage.turns == 4
    assert {event["tool"] for event in events_of(spec, "agent.used_tool")} >= {"Read", "Edit", "Bash"}
    assert [event["cost_micro_usd"] for event in events_of(spec, "agent.spent")] == [
        result.usage.cost_micro_usd
    ]


def test_the_real_client_is_refused_a_push_and_changes_nothing(
    host: Host, repo: Repo, make_model: MakeModel, claude_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(library.run_shell("git push origin HEAD"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    result = run_here(host.spec(repo, client(claude_binary)))
    assert (result.outcome, result.code) == (Outcome.NO_CHANGES, "no-changes-tools-refused")
    assert result.denials == ("Bash(git push origin HEAD)",)


def test_the_real_client_asks_a_question(
    host: Host, repo: Repo, make_model: MakeModel, claude_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(library.say("I cannot tell.\n\nAUTOPILOT-QUESTION: Round up or down?"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    result = run_here(host.spec(repo, client(claude_binary)))
    assert (result.outcome, result.questions) == (Outcome.ASKED, ("Round up or down?",))


def test_the_real_client_with_a_wrong_key_is_given_up_early(
    host: Host, repo: Repo, make_model: MakeModel, claude_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(library.unauthorized())
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    result = run_here(host.spec(repo, client(claude_binary)))
    assert (result.outcome, result.code) == (Outcome.CREDENTIAL, "agent-not-authenticated")


def test_the_real_client_is_ended_at_the_ceiling(
    host: Host, repo: Repo, make_model: MakeModel, claude_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(library.spend(output_tokens=2000))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    limits = Limits(run_ceiling_micro_usd=100_000, wall_s=100, kill_grace_s=2)
    result = run_here(host.spec(repo, client(claude_binary), limits=limits))
    assert (result.outcome, result.code) == (Outcome.OVER_CEILING, "run-ceiling")
    assert 100_000 <= result.usage.cost_micro_usd < 200_000


def test_an_address_that_is_not_listed_is_named_and_no_login_is_blamed(
    host: Host, repo: Repo, make_model: MakeModel, claude_binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(library.say("hello"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    agent = client(claude_binary).model_copy(update={"api": ("https://model.example",)})
    result = run_here(host.spec(repo, agent))
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, "agent-host-refused"), result.message
    assert model.requests() == []
