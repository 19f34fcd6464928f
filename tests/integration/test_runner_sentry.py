"""The guard around an agent: proven before it starts, told of, and nobody walks past it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.agents import Agent
from tests.support.claude_stand_in import write_client
from tests.support.repos import Repo
from tests.support.runs import OPEN, Host, events_of, run_here
from tests.support.small_project import small_repo

RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "total_cost_usd": 0.1}
INIT = {"type": "system", "subtype": "init"}
PUSH = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "git push origin HEAD"}}


def told(*events: object) -> str:
    """Python text that says these events."""
    return f"say({''.join(json.dumps(event) + chr(10) for event in events)!r})\n"


def used(number: int, tool: str = "Bash") -> tuple[object, object]:
    """The stream of a tool that was used and gave a good answer."""
    use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"command": "ls"}}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}
    return (
        {"type": "assistant", "message": {"id": f"m{number}", "content": [use]}},
        {"type": "user", "message": {"content": [answer]}},
    )


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def client(agent: Agent) -> AgentSpec:
    return AgentSpec(name="claude", kind="claude", argv=(str(agent.path),))


@pytest.mark.covers("H01", "H23")
def test_a_refusal_is_an_event_and_counted_once_even_where_the_client_counts_it_too(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    body = 'start()\nnote(use("Bash", command="git push origin HEAD"))\n'
    agent = write_client(tmp_path / "bin", body + told(INIT, {**RESULT, "permission_denials": [PUSH]}))
    spec = host.spec(repo, client(agent), sandbox=OPEN)
    result = run_here(spec)
    assert agent.notes() == ["2"]
    (event,) = events_of(spec, "guard.refused")
    assert (event["tool"], event["about"]) == ("Bash", "git push origin HEAD")
    assert event["code"]
    assert event["reason"]
    assert result.denials == ("Bash(git push origin HEAD)",)
    assert [(each.by, each.what, each.count) for each in result.blocked] == [("guard", result.denials[0], 1)]
    assert (result.outcome, result.code) == (Outcome.NO_CHANGES, "no-changes-tools-refused")


@pytest.mark.parametrize("asked", [0, 1])
def test_an_agent_that_uses_a_tool_without_asking_is_ended(
    host: Host, repo: Repo, tmp_path: Path, asked: int
) -> None:
    asking = 'use("Bash", command="ls")\n' * asked
    stream = told(INIT, *(event for number in range(asked + 1) for event in used(number)))
    agent = write_client(tmp_path / "bin", f"start()\n{asking}{stream}forever()")
    result = run_here(host.spec(repo, client(agent)))
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, "guard-bypassed")
    assert result.hint


def test_tools_that_were_asked_for_and_tools_that_need_not_be_go_on(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    body = 'start()\nuse("Bash", command="ls")\n' + told(INIT, *used(1), *used(2, "Read"), RESULT)
    result = run_here(host.spec(repo, client(write_client(tmp_path / "bin", body))))
    assert (result.outcome, result.code, result.blocked) == (Outcome.NO_CHANGES, "no-changes", ())


def test_a_client_that_begins_without_its_hooks_is_ended(host: Host, repo: Repo, tmp_path: Path) -> None:
    agent = write_client(tmp_path / "bin", told(INIT) + "forever()")
    result = run_here(host.spec(repo, client(agent)))
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, "agent-hooks-ignored")


@pytest.mark.parametrize(
    ("code", "named"), [("pass", "git push"), ("raise SystemExit(2)", "git status"), ("1/0", "git push")]
)
def test_a_guard_that_answers_wrongly_keeps_the_agent_from_being_started(  # noqa: PLR0917
    host: Host, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, named: str
) -> None:
    monkeypatch.setattr(
        "autopilot.runner.sentry.client_command", lambda _socket: (sys.executable, "-I", "-S", "-c", code)
    )
    agent = write_client(tmp_path / "bin", "note('started')")
    spec = host.spec(repo, client(agent))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.INFRASTRUCTURE, "guard-selftest")
    assert named in result.message
    assert events_of(spec, "agent.started") == []
    assert agent.notes() == []
    assert result.usage.known
    assert result.usage.cost_micro_usd == 0


def test_what_an_earlier_round_wrote_is_remembered_in_the_next(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    body = (
        'start()\nopen("answer.txt", "w").write("wronger " * (1 + len(open(MARK).readlines())))\n'
        'note(use("Write", file_path=os.path.abspath("run.sh"), content="x") if not open(MARK).read() '
        'else use("Bash", command="./run.sh"))\n'
    )
    agent = write_client(tmp_path / "bin", "open(MARK, 'a').close()\n" + body + told(INIT, RESULT))
    run_here(host.spec(repo, client(agent), sandbox=OPEN))
    assert agent.notes()[:2] == ["0", "2"]


def test_an_agent_without_hooks_has_no_guard(host: Host, repo: Repo) -> None:
    spec = host.spec(repo, host.agent([{"write": {"path": "answer.txt", "text": "right\n"}}]))
    assert run_here(spec).outcome is Outcome.COMMITTED
    assert not (spec.run_dir / "guard.sock").exists()
    assert not (spec.run_dir / "agent-hook.log").exists()
