"""How a run can end, each with its name, its reason and nothing lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autopilot.daemon.breaker import after_attempt
from autopilot.daemon.decide import production
from autopilot.daemon.rules import Rules
from autopilot.daemon.store.rows import Breaker
from autopilot.runner.state import read_state
from autopilot.schemas.machine import WaitingFor
from autopilot.schemas.publication import PublishRequest
from autopilot.schemas.run import AgentSpec, Outcome, RunSpec
from autopilot.schemas.ticket import Exchange
from tests.support import agents
from tests.support.agents import Agent, write_agent
from tests.support.captures import capture
from tests.support.claude_stand_in import replaying
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files
from tests.support.runs import Host, events_of, run_here
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


def rounds_played(spec: RunSpec) -> int:
    return len(events_of(spec, "agent.started"))


@pytest.mark.covers("B15")
def test_an_agent_that_changes_nothing_ends_as_no_changes(host: Host, repo: Repo) -> None:
    spec = host.spec(repo, host.agent([{"lie": "All tests pass now."}]))
    result = run_here(spec)
    assert (result.outcome, result.code, result.head) == (Outcome.NO_CHANGES, "no-changes", None)
    assert result.hint
    assert not spec.pr_request.exists()
    assert rounds_played(spec) == 1
    state = read_state(spec.run_dir / "agent-state.json")
    assert (state.status, state.waiting_for, state.halt_reason) == (
        "paused",
        WaitingFor.NO_CHANGES,
        "2:no-changes",
    )


@pytest.mark.field_report("AGT-020")
def test_no_change_after_refused_tools_names_them(host: Host, repo: Repo, tmp_path: Path) -> None:
    result = run_here(host.spec(repo, client(replaying(tmp_path / "bin", capture("claude", "denials")))))
    assert (result.outcome, result.code) == (Outcome.NO_CHANGES, "no-changes-tools-refused")
    assert result.denials
    assert result.denials[0] in result.hint
    assert [(each.by, each.what) for each in result.blocked] == [("tools", each) for each in result.denials]


def test_output_that_is_not_json_is_a_failure_of_the_agent(host: Host, repo: Repo, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "bin", "other", 'say("Welcome to another program!\\n")')
    result = run_here(host.spec(repo, AgentSpec(name="claude", kind="claude", argv=(str(agent.path),))))
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "agent-output-not-json")
    assert not result.usage.known


@pytest.mark.covers("B20")
def test_a_question_ends_the_run_and_its_answer_carries_the_next_one(host: Host, repo: Repo) -> None:
    agent = host.agent([{"ask": "Which answer?"}, {"write": {"path": "answer.txt", "text": "$ANSWER\n"}}])
    first = host.spec(repo, agent)
    asked = run_here(first)
    assert (asked.outcome, asked.questions) == (Outcome.ASKED, ("Which answer?",))
    assert read_state(first.run_dir / "agent-state.json").waiting_for is WaitingFor.QUESTIONS
    exchange = Exchange(question="Which answer?", asked_ms=1, answer="right", answered_ms=2)
    second = host.spec(repo, agent, attempt=2, exchanges=(exchange,))
    assert run_here(second).outcome is Outcome.COMMITTED
    assert "right" in (second.run_dir / "prompt-1.md").read_text()


@pytest.mark.covers("B20")
def test_depth_workspace_plan_and_draft_are_nobodys_questions(host: Host, repo: Repo) -> None:
    spec = host.spec(repo, host.agent([{"write": {"path": "answer.txt", "text": "right\n"}}]))
    result = run_here(spec)
    assert (result.outcome, result.questions) == (Outcome.COMMITTED, ())
    state = read_state(spec.run_dir / "agent-state.json")
    assert (state.autopilot, state.workspace_source) == (True, "autopilot")
    assert (state.only_develop, state.local_mode) == (False, False)
    assert state.base_branch_source != "asked"
    for phase in state.phases.values():
        assert phase.plan_approved_at is None
        assert not phase.clarification_rounds
        assert (phase.clarification_questions, phase.plan_edit_requests) == ((), ())
    # A pull request that is no draft cannot even be asked for.
    assert not [name for name in PublishRequest.model_fields if "draft" in name or "ready" in name]


@pytest.mark.covers("A26", "E05", "E07", "E11", "E12", "E27", "O14", "O36", "T08")
def test_red_gates_go_back_to_the_agent_three_times_and_then_trip_the_breaker(host: Host, repo: Repo) -> None:
    rounds: list[Steps] = [
        [{"write": {"path": "answer.txt", "text": f"wrong {number}\n"}}] for number in range(3)
    ]
    spec = host.spec(repo, host.agent(*rounds))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.GATES_FAILED, "gates-failed")
    assert re.search(r"still not green: test-summary \(.+\)$", result.message), "why it is red is said too"
    assert rounds_played(spec) == 3
    assert "answer::is_right" in (spec.run_dir / "prompt-2.md").read_text()
    assert "This is round 3." in (spec.run_dir / "prompt-3.md").read_text()
    assert not spec.pr_request.exists()
    state = read_state(spec.run_dir / "agent-state.json")
    assert (state.status, state.waiting_for, state.halt_reason) == (
        *("paused", WaitingFor.BREAKER),
        "2:circuit-breaker:retries-exhausted",
    )
    assert state.circuit_breaker is not None
    assert (state.circuit_breaker.tripped, state.circuit_breaker.trigger) == (True, 1)
    assert state.circuit_breaker.checkpoint is not None
    assert (state.circuit_breaker.checkpoint.phase, state.circuit_breaker.checkpoint.iteration) == (2, 3)
    assert (spec.worktree / "answer.txt").read_text() == "wrong 2\n"


@pytest.mark.covers("E04")
def test_a_runs_own_breaker_and_the_launch_breaker_know_nothing_of_each_other(host: Host, repo: Repo) -> None:
    """Red gates trip the run's own alone; an agent that fails counts for launches alone."""
    rounds: list[Steps] = [[{"write": {"path": "answer.txt", "text": f"wrong {each}"}}] for each in range(3)]
    failing: list[Steps] = [[{"exit": 1}]]
    ends = {}
    for attempt, played, is_tripped, failures in ((1, rounds, True, 0), (2, failing, False, 1)):
        spec = host.spec(repo, host.agent(*played), attempt=attempt)
        result = run_here(spec)
        own = read_state(spec.run_dir / "agent-state.json").circuit_breaker
        assert (own is not None and own.tripped) is is_tripped
        before = Breaker(scope="agent:mine")
        made = production(result)
        after = after_attempt(before, spec.run_id, made, now_ms=0, rules=Rules())
        assert (after.state, after.failures) == ("closed", failures)
        ends[result.outcome] = made.produced
    assert ends == {Outcome.GATES_FAILED: True, Outcome.AGENT_FAILED: False}


@pytest.mark.covers("O31")
def test_what_round_one_did_not_mend_round_two_may_and_one_commit_comes_of_it(host: Host, repo: Repo) -> None:
    spec = host.spec(repo, host.agent([{"write": {"path": "other.txt", "text": "x"}}], MEND))
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED
    assert rounds_played(spec) == 2
    judge = spec.run_dir / "judge.git"
    assert git(judge, "rev-list", "--count", f"{repo.base_sha}..{result.head}") == "1"
    assert {gate.head for gate in result.gates} == {result.head}
    assert read_state(spec.run_dir / "agent-state.json").phases["2"].retry_count == 1


def test_a_red_commit_that_nobody_changed_gets_no_second_chance_by_luck(host: Host, repo: Repo) -> None:
    seen = host.state / "seen"
    check = f"""
    [ -e '{seen}' ] && inner= || inner='<failure/>'
    printf '<testsuite><testcase classname="a" name="b">%s</testcase></testsuite>' "$inner" > report.xml
    [ -e '{seen}' ]
    """
    commit_files(repo.remote, "main", {"check.sh": check})
    steps: Steps = [{"write": {"path": "new.txt", "text": "x"}}]
    spec = host.spec(repo, host.agent(steps, [*steps, {"write": {"path": str(seen), "text": ""}}]))
    result = run_here(spec)
    assert result.outcome is Outcome.GATES_FAILED
    assert len(events_of(spec, "gate.failed")) == 1
    assert "Nothing was changed" in (spec.run_dir / "prompt-3.md").read_text()


@pytest.mark.field_report("AGT-021")
@pytest.mark.parametrize(
    "end",
    ["sys.exit(1)", "os._exit(137)", "os._exit(143)", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 15)"],
)
def test_a_bad_exit_after_a_good_result_keeps_the_work(
    host: Host, repo: Repo, tmp_path: Path, end: str
) -> None:
    body = f"""
    open("answer.txt", "w").write("right\\n")
    say('{{"type": "result", "ok": true, "summary": "Did it."}}\\n')
    {end}
    """
    result = run_here(host.spec(repo, command(write_agent(tmp_path / "bin", "abrupt", body))))
    assert result.outcome is Outcome.COMMITTED
    assert any("non-zero exit after result" in warning for warning in result.warnings)


@pytest.mark.field_report("AGT-022")
def test_an_agent_that_fails_without_a_word_is_an_unknown_failure(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    agent = agents.fails_silently(tmp_path / "bin")
    for attempt in (1, 2):
        result = run_here(host.spec(repo, command(agent), attempt=attempt))
        assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "agent-failed-unknown")


@pytest.mark.field_report("AGT-036")
def test_a_failing_agents_garbled_stderr_is_readable_in_the_result(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    body = r'say(b"\xff\xfe error: quota\x1b[31m\n", to=2); sys.exit(3)'
    result = run_here(host.spec(repo, command(write_agent(tmp_path / "bin", "garbled", body))))
    assert result.outcome is Outcome.AGENT_FAILED
    assert "exit 3" in result.message
    assert "error: quota" in result.message
    assert result.message.isprintable()


@pytest.mark.parametrize("asks", [0, 1, 2, 5, 10, 20, 30, 40])
def test_asked_to_end_at_any_moment_it_ends_as_stopped_or_is_done(host: Host, repo: Repo, asks: int) -> None:
    left = iter(range(asks))
    spec = host.spec(repo, host.agent([*MEND, {"spend": {"usd": 0.5}}]))
    result = run_here(spec, lambda: None if next(left, None) is not None else "stopped")
    assert result.outcome in {Outcome.STOPPED, Outcome.COMMITTED}
    assert spec.pr_request.exists() == (result.outcome is Outcome.COMMITTED)
    assert (result.head is not None) or result.outcome is Outcome.STOPPED
    assert read_state(spec.run_dir / "agent-state.json").status in {"paused", "complete"}


def test_tests_that_cannot_be_started_here_stop_the_run_before_anybody_is_paid(
    host: Host, repo: Repo
) -> None:
    policy = 'stack = "unknown"\nreport = "report.xml"\n\n[commands]\ntest = ["no-such-test-program"]\n'
    commit_files(repo.remote, "main", {".autopilot.toml": policy})
    spec = host.spec(repo, host.agent(MEND))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, "tests-cannot-start")
    assert "no-such-test-program" in result.message
    assert ".autopilot.toml" in result.hint
    assert rounds_played(spec) == 0
    assert (result.usage.known, result.usage.cost_micro_usd) == (True, 0)
