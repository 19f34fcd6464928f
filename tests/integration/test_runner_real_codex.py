"""Whole runs with the real Codex client, its model played on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.price import TokenPrice
from autopilot.schemas.run import AgentSpec, Limits, Outcome
from tests.support.codex_cli import KEY_VARIABLE, MODEL, client_argv
from tests.support.fixtures import MakeModel
from tests.support.model_server import ModelServer
from tests.support.repos import Repo, make_repo
from tests.support.responses_api import tool_results
from tests.support.runs import Host, events_of, run_here
from tests.support.scenarios import library
from tests.support.scenarios.steps import Scenario, Step, ToolCall, Usage
from tests.support.small_project import small_project, small_repo

pytestmark = [
    pytest.mark.needs(binary="node", apt="nodejs"),
    pytest.mark.needs(binary="npm", apt="npm"),
    pytest.mark.timeout(300),
]
PRICES = {MODEL: TokenPrice(input=5_000_000, output=30_000_000, cache_read=500_000, cache_write=0)}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv(KEY_VARIABLE, "made-up-key-of-the-model")
    return Host(tmp_path / "state")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def client(binary: Path, model: ModelServer) -> AgentSpec:
    return AgentSpec(
        name="codex",
        kind="codex",
        argv=client_argv(binary, model.url),
        api=(model.url,),
        model=MODEL,
        prices=PRICES,
    )


def test_an_address_that_is_not_listed_is_named_and_no_login_is_blamed(
    host: Host, repo: Repo, make_model: MakeModel, codex_binary: Path
) -> None:
    model = make_model(library.codex_mend(small_project()))
    unlisted = client(codex_binary, model).model_copy(update={"api": ()})
    spec = host.spec(repo, unlisted)
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, "agent-host-refused")
    assert "api" in result.hint
    assert model.requests() == []
    assert [each.by for each in result.blocked] == ["network"]
    assert events_of(spec, "network.refused")


def test_the_real_client_mends_the_file_and_its_tokens_are_priced(
    host: Host, repo: Repo, make_model: MakeModel, codex_binary: Path
) -> None:
    model = make_model(library.codex_mend(small_project()))
    spec = host.spec(repo, client(codex_binary, model))
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED, (result.message, (spec.run_dir / "agent-1.log").read_text())
    assert (result.usage.known, result.usage.cost_micro_usd) == (True, 3 * (5000 + 1500))
    assert [event["tool"] for event in events_of(spec, "agent.used_tool")] == ["apply_patch", "Bash"]


@pytest.mark.parametrize("variable", ["CODEX_API_KEY", "OPENAI_API_KEY"])
def test_the_real_client_with_its_own_provider_asks_the_broker_and_nothing_else(
    host: Host,
    repo: Repo,
    make_model: MakeModel,
    codex_binary: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    variable: str,
) -> None:
    model = make_model(library.codex_mend(small_project()))
    monkeypatch.delenv(KEY_VARIABLE)
    monkeypatch.setenv(variable, "made-up-key-of-the-model")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
    agent = AgentSpec(
        name="codex",
        kind="codex",
        argv=(str(codex_binary),),
        env_pass=("OPENAI_BASE_URL",),
        model=MODEL,
        prices=PRICES,
    )
    spec = host.spec(repo, agent)
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED, (result.message, (spec.run_dir / "agent-1.log").read_text())
    assert {each.by for each in result.blocked} <= {"network"}
    assert not [each for each in result.blocked if "127.0.0.1" in each.what or "openai.com" in each.what]
    assert {request.headers["authorization"] for request in model.requests()} == {"(given)"}


def test_commands_of_the_real_client_do_not_see_its_key(
    host: Host, tmp_path: Path, make_model: MakeModel, codex_binary: Path
) -> None:
    check = "env\n" + small_project().files["check.sh"]
    repo = make_repo(tmp_path / "theirs", project=small_project(), extra_files={"check.sh": check})
    model = make_model(Scenario((library.codex_shell("sh check.sh"), Step("Done."))))
    run_here(host.spec(repo, client(codex_binary, model)))
    (told,) = tool_results(model.requests()[-1].body)
    assert "AUTOPILOT_UNATTENDED=1" in told
    assert "made-up-key" not in told


def test_the_real_client_is_ended_at_the_ceiling_within_its_turn(
    host: Host, repo: Repo, make_model: MakeModel, codex_binary: Path
) -> None:
    again = library.codex_shell("cat answer.txt")
    model = make_model(Scenario((Step(tools=again.tools, usage=Usage(1000, 1000)),)))
    limits = Limits(run_ceiling_micro_usd=100_000, wall_s=100, kill_grace_s=2)
    result = run_here(host.spec(repo, client(codex_binary, model), limits=limits))
    assert (result.outcome, result.code) == (Outcome.OVER_CEILING, "run-ceiling")
    assert result.usage.cost_micro_usd >= 100_000


def test_a_used_up_window_and_a_wrong_key_are_told_apart(
    host: Host, repo: Repo, make_model: MakeModel, codex_binary: Path
) -> None:
    model = make_model(library.unauthorized())
    result = run_here(host.spec(repo, client(codex_binary, model)))
    assert (result.outcome, result.code) == (Outcome.CREDENTIAL, "agent-not-authenticated")
    assert (result.usage.known, result.usage.cost_micro_usd) == (True, 0)


def test_a_command_in_a_shell_that_the_guard_does_not_read_ends_the_run(
    host: Host, repo: Repo, make_model: MakeModel, codex_binary: Path
) -> None:
    elsewhere = ToolCall("exec_command", {"cmd": "sleep 30", "shell": "/bin/sh", "yield_time_ms": 10_000})
    model = make_model(Scenario((Step(tools=(elsewhere,)), Step("Done."))))
    result = run_here(host.spec(repo, client(codex_binary, model)))
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "agent-other-shell")
