"""Money, time and output: where a run is stopped, and what it says then."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.state import read_state
from autopilot.schemas.run import AgentSpec, Limits, Outcome, RunSpec
from tests.support.agents import Agent, write_agent
from tests.support.captures import capture
from tests.support.claude_stand_in import replaying
from tests.support.repos import Repo
from tests.support.runs import OPEN, Host, events_of, run_here
from tests.support.small_project import small_repo

Steps = list[dict[str, object]]
MEND: Steps = [{"write": {"path": "answer.txt", "text": "right\n"}}]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def command(agent: Agent, **changes: object) -> AgentSpec:
    return AgentSpec.model_validate(
        {"name": "mine", "kind": "command", "argv": (str(agent.path),), **changes}
    )


def client(agent: Agent) -> AgentSpec:
    """Claude Code, as far as the runner sees it."""
    return AgentSpec(name="claude", kind="claude", argv=(str(agent.path),))


def limits(**changes: object) -> Limits:
    return Limits.model_validate(
        {"run_ceiling_micro_usd": 5_000_000, "wall_s": 60, "silence_s": 30, "kill_grace_s": 0.3, **changes}
    )


def rounds_played(spec: RunSpec) -> int:
    return len(events_of(spec, "agent.started"))


@pytest.mark.covers("E18", "F06", "F02")
def test_spending_beyond_the_ceiling_ends_the_agent_while_it_runs(host: Host, repo: Repo) -> None:
    steps: Steps = [
        *MEND,
        {"spend": {"usd": 4.99}},
        {"spend": {"usd": 1.5}},
        {"ignore_term": True},
        {"hang": True},
    ]
    spec = host.spec(repo, host.agent(steps), limits=limits())
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.OVER_CEILING, "run-ceiling")
    assert result.usage.cost_micro_usd == 6_490_000
    assert [event["cost_micro_usd"] for event in events_of(spec, "agent.spent")][-1] == 6_490_000
    state = read_state(spec.run_dir / "agent-state.json")
    assert state.circuit_breaker is not None
    assert state.circuit_breaker.trigger == 4


def test_a_ceiling_that_is_reached_exactly_starts_no_further_round(host: Host, repo: Repo) -> None:
    steps: Steps = [{"write": {"path": "other.txt", "text": "x"}}, {"spend": {"usd": 5}}]
    spec = host.spec(repo, host.agent(steps), limits=limits())
    assert run_here(spec).outcome is Outcome.OVER_CEILING
    assert rounds_played(spec) == 1


@pytest.mark.covers("F05")
def test_rounds_share_the_budget_of_their_phase_and_a_subscription_has_it_too(host: Host, repo: Repo) -> None:
    steps: Steps = [{"append": {"path": "other.txt", "text": "x"}}, {"spend": {"input_tokens": 60}}]
    agent = host.agent(steps).model_copy(update={"billing": "subscription"})
    spec = host.spec(repo, agent, limits=limits(phase_tokens={"plan": 1, "dev": 100}))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.OVER_BUDGET, "phase-budget")
    assert rounds_played(spec) == 2
    assert [(each.phase, each.usage.input_tokens) for each in result.phases] == [("dev", 120)]
    state = read_state(spec.run_dir / "agent-state.json")
    assert state.circuit_breaker is not None
    assert (state.circuit_breaker.trigger, state.waiting_for) == (4, "breaker")


def test_a_subscription_is_not_stopped_by_notional_dollars(host: Host, repo: Repo) -> None:
    agent = host.agent([*MEND, {"spend": {"usd": 50}}]).model_copy(update={"billing": "subscription"})
    result = run_here(host.spec(repo, agent, limits=limits()))
    assert (result.outcome, result.usage.cost_micro_usd) == (Outcome.COMMITTED, 50_000_000)


def test_an_agent_that_does_not_tell_its_cost_is_of_unknown_cost(host: Host, repo: Repo) -> None:
    result = run_here(host.spec(repo, host.agent([{"hide_cost": True}, *MEND])))
    assert (result.outcome, result.usage.known) == (Outcome.COMMITTED, False)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"silence_s": 4}, "agent-silence"),
        pytest.param({"wall_s": 12}, "agent-wall", marks=pytest.mark.slow),
        ({"no_progress_s": 4}, "agent-no-progress"),
    ],
)
def test_an_agent_that_hangs_is_ended_by_each_of_the_timers(
    host: Host, repo: Repo, changes: dict[str, float], code: str
) -> None:
    steps: Steps = [{"ignore_term": True}, *MEND, {"spend": {"usd": 0.5}}, {"hang": True}]
    spec = host.spec(repo, host.agent(steps), limits=limits(**changes))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.TIMED_OUT, code)
    assert result.usage.cost_micro_usd == 500_000
    assert (spec.worktree / "answer.txt").read_text() == "right\n"
    assert read_state(spec.run_dir / "agent-state.json").status == "failed"


def test_an_agent_that_goes_on_changing_files_is_not_taken_for_stuck(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    body = """
    import time
    for number in range(8):
        open("answer.txt", "w").write("right\\n" * (number + 1))
        time.sleep(0.5)
    """
    spec = host.spec(
        repo, command(write_agent(tmp_path / "bin", "slow", body)), limits=limits(no_progress_s=3)
    )
    assert run_here(spec).outcome is Outcome.COMMITTED


@pytest.mark.field_report("AGT-012")
def test_a_flood_is_passed_over_or_cut_off_at_the_ceiling(host: Host, repo: Repo, tmp_path: Path) -> None:
    flood: Steps = [
        {"flood": {"bytes": 20_000_000, "newline": False}},
        {"print": ""},
        *MEND,
    ]
    assert run_here(host.spec(repo, host.agent(flood))).outcome is Outcome.COMMITTED
    endless = host.agent([{"flood": {"bytes": 10**9, "newline": False}}], name="endless")
    result = run_here(host.spec(repo, endless, attempt=2, limits=limits(output_bytes=5_000_000)))
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "agent-output-ceiling")
    assert (host.spec(repo, attempt=2).run_dir / "agent-1.log").stat().st_size <= 5_000_000


@pytest.mark.field_report("DMN-021")
def test_what_an_agent_may_print_is_for_all_its_rounds_together(host: Host, repo: Repo) -> None:
    flood: Steps = [{"flood": {"bytes": 3_000_000, "newline": False}}, {"print": ""}]
    red: Steps = [*flood, {"write": {"path": "notes.txt", "text": "not yet"}}]
    agent = host.agent(red, red, red, name="chatty")
    result = run_here(host.spec(repo, agent, limits=limits(output_bytes=5_000_000)))
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "agent-output-ceiling")
    logs = list(host.spec(repo).run_dir.glob("agent-*.log"))
    assert len([log for log in logs if ".stderr" not in log.name]) == 2
    assert sum(log.stat().st_size for log in logs) <= 5_000_000


def test_a_usage_limit_tells_when_it_ends(host: Host, repo: Repo, tmp_path: Path) -> None:
    limited = replaying(tmp_path / "bin", capture("claude", "usage-limit"), code=1)
    result = run_here(host.spec(repo, client(limited)))
    assert (result.outcome, result.resets_ms) == (Outcome.USAGE_LIMIT, 1_800_000_000_000)
    assert result.usage.known


def test_a_wrong_key_is_not_waited_for(host: Host, repo: Repo, tmp_path: Path) -> None:
    refused = replaying(tmp_path / "bin", capture("claude", "error-401"), then="forever()")
    result = run_here(host.spec(repo, client(refused)))
    assert (result.outcome, result.code) == (Outcome.CREDENTIAL, "agent-not-authenticated")
    assert result.hint


def test_a_machine_that_refuses_is_named_and_the_spend_is_not_lost(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    spec = host.spec(
        repo, host.agent([*MEND, {"spend": {"usd": 0.5}}]), pr_request=tmp_path / "file" / "x.json"
    )
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.INFRASTRUCTURE, "machine-refused")
    assert result.usage.cost_micro_usd == 500_000
    assert result.head is not None


def test_a_state_file_that_cannot_be_closed_costs_a_warning_not_the_result(host: Host, repo: Repo) -> None:
    spec = host.spec(repo, sandbox=OPEN)
    spoil = f"rm -f '{spec.run_dir}/agent-state.json.lock'; mkdir '{spec.run_dir}/agent-state.json.lock'"
    agent = host.agent([{"run": ["sh", "-c", spoil]}])
    result = run_here(spec.model_copy(update={"agent": agent}))
    assert result.outcome is Outcome.NO_CHANGES
    assert any("record could not be closed" in warning for warning in result.warnings)
