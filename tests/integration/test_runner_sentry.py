"""The guard around an agent: proven before it starts, told of, and nobody walks past it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from autopilot.schemas.guard import GuardSpec
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.agents import Agent
from tests.support.claude_stand_in import write_client
from tests.support.repos import Repo, make_repo
from tests.support.runs import OPEN, Host, events_of, run_here
from tests.support.small_project import small_project, small_repo

RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "total_cost_usd": 0.1}
INIT = {"type": "system", "subtype": "init"}
PUSH = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "git push origin HEAD"}}


def told(*events: object) -> str:
    """Python text that says these events."""
    return f"say({''.join(json.dumps(event) + chr(10) for event in events)!r})\n"


def used(number: int, tool: str = "Bash") -> tuple[dict[str, Any], dict[str, Any]]:
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


@pytest.mark.parametrize(
    "asking",
    [
        'use("Bash", "another", command="ls")\n' * 3,
        'use("Bash", "t1", command="git push origin HEAD")\n',
    ],
    ids=["about others", "and was refused"],
)
@pytest.mark.parametrize("error", [None, "Exit code 1\nno such file"])
@pytest.mark.parametrize("is_quick", [True, False], ids=["ends at once", "goes on"])
def test_a_tool_that_ran_without_leave_for_just_that_use_is_named_and_the_run_does_not_count(
    host: Host, repo: Repo, tmp_path: Path, asking: str, error: str | None, *, is_quick: bool
) -> None:
    use, (answer,) = used(1)[0], used(1)[1]["message"]["content"]
    result = answer if error is None else {**answer, "content": error, "is_error": True}
    stream = told(INIT, use, {"type": "user", "message": {"content": [result]}})
    stream += told(RESULT) if is_quick else "forever()"
    agent = write_client(tmp_path / "bin", f"start()\n{asking}{stream}")
    ended = run_here(host.spec(repo, client(agent)))
    assert (ended.outcome, ended.code) == (Outcome.CONFIGURATION, "guard-bypassed")
    assert "(Bash t1)" in ended.message


@pytest.mark.parametrize("why", ["<tool_use_error>No such tool</tool_use_error>", "has been denied"])
def test_a_use_that_never_began_need_not_have_been_asked_about(
    host: Host, repo: Repo, tmp_path: Path, why: str
) -> None:
    use, (answer,) = used(1)[0], used(1)[1]["message"]["content"]
    refused = {"type": "user", "message": {"content": [{**answer, "content": why, "is_error": True}]}}
    body = "start()\n" + told(INIT, use, refused, RESULT)
    result = run_here(host.spec(repo, client(write_client(tmp_path / "bin", body))))
    assert (result.outcome, result.code) == (Outcome.NO_CHANGES, "no-changes")


def test_tools_that_were_asked_for_and_tools_that_need_not_be_go_on(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    body = 'start()\nuse("Bash", command="ls")\n' + told(INIT, *used(1), *used(2, "Glob"), RESULT)
    result = run_here(host.spec(repo, client(write_client(tmp_path / "bin", body))))
    assert (result.outcome, result.code, result.blocked) == (Outcome.NO_CHANGES, "no-changes", ())


def test_how_much_of_a_file_is_read_at_once_is_the_operators_to_say(host: Host, tmp_path: Path) -> None:
    files = {"large.txt": "x" * 2000, "small.txt": "x" * 1000}
    repo = make_repo(tmp_path / "theirs", project=small_project(), extra_files=files)
    reads = "".join(f'use("Read", file_path="{name}")\n' for name in files)
    agent = write_client(tmp_path / "bin", f"start()\n{reads}" + told(INIT, RESULT))
    result = run_here(host.spec(repo, client(agent), guard=GuardSpec(max_read_kib=1)))
    assert [(each.by, each.code, each.count) for each in result.blocked] == [("guard", "read-size", 1)]


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
