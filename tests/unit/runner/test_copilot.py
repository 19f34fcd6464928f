"""How Copilot CLI is started, what is written for it, and what its stream means."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.runner.agents.adapter import AgentReport, Ending, Order
from autopilot.runner.agents.copilot import CopilotAgent, hooks_text
from autopilot.runner.agents.events import Acted, AgentEvent, Spoke, UsedTool
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.captures import copilot, copilot_names
from tests.support.orders import make_order

MATRIX = [
    ("deeds", None, "agent-finished"),
    ("error-401", Outcome.CREDENTIAL, "agent-not-authenticated"),
    ("unknown-model", Outcome.CONFIGURATION, "agent-model-unknown"),
    ("sigterm", Outcome.AGENT_FAILED, "agent-no-result"),
]


@pytest.fixture
def order(tmp_path: Path) -> Order:
    (tmp_path / "prompt.md").write_text("--yolo is text here\n")
    agent = AgentSpec(name="copilot", kind="copilot", model="claude-sonnet-4.5", env_pass=("X_PASSED",))
    return make_order(
        agent, tmp_path, guard=("/usr/bin/python3", "cl ient.py", "/r/guard.sock"), is_confined=True
    )


def told(*events: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


def play(data: bytes, code: int = 0, tail: str = "") -> tuple[AgentReport, list[AgentEvent]]:
    agent = CopilotAgent()
    events = [event for start in range(0, len(data), 97) for event in agent.feed(data[start : start + 97])]
    return agent.finish(Ending(code, None, tail) if code >= 0 else Ending(None, -code, tail)), events


def replay(name: str) -> tuple[AgentReport, list[AgentEvent]]:
    capture = copilot(name)
    return play(capture.stdout, capture.exit_code, capture.stderr)


def test_it_is_started_headless_offline_with_few_tools_and_never_with_all(order: Order) -> None:
    launch = CopilotAgent().launch(order)
    argv = list(launch.argv)
    tools = argv[argv.index("--available-tools") + 1 :][:6]
    assert tools == ["bash", "create", "edit", "glob", "grep", "view"]
    assert {"--no-ask-user", "--disable-builtin-mcps", "--no-auto-update", "--no-remote"} < set(argv)
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--allow-tool"] == ["write", "shell"]
    assert "shell(git push)" in argv
    forbidden = ("--allow-all", "--yolo", "--trust-folder", "-p", "--prompt", "--autopilot")
    assert not [word for word in argv if word.startswith(forbidden)]
    assert launch.stdin == order.prompt.read_bytes()
    assert launch.passes == ("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "X_PASSED")
    assert launch.extra == {
        "COPILOT_HOME": str(order.private / "copilot"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "SHELL": "/bin/bash",
    }
    (hooks,) = launch.files.values()
    (asked,) = json.loads(hooks)["hooks"]["preToolUse"]
    assert asked["bash"] == "/usr/bin/python3 'cl ient.py' /r/guard.sock"
    assert asked["timeoutSec"] == 86_400
    assert json.loads(hooks_text(()))["hooks"] == {"preToolUse": []}


def test_a_sandbox_around_it_is_what_gives_it_a_shell(order: Order) -> None:
    argv = list(CopilotAgent().launch(replace(order, is_confined=False)).argv)
    start, end = argv.index("--available-tools") + 1, argv.index("--allow-tool")
    assert argv[start:end] == ["create", "edit", "glob", "grep", "view"]
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--allow-tool"] == ["write"]


def test_without_a_model_it_is_not_started(order: Order) -> None:
    nameless = order.agent.model_copy(update={"model": None})
    with pytest.raises(ConfigError) as caught:
        CopilotAgent().launch(replace(order, agent=nameless))
    assert caught.value.code == "agent-model-unknown"


@pytest.mark.parametrize(("name", "outcome", "code"), MATRIX)
def test_every_row_of_the_outcome_matrix_gets_its_verdict(
    name: str, outcome: Outcome | None, code: str
) -> None:
    report, _ = replay(name)
    assert (report.outcome, report.code) == (outcome, code)
    assert report.message
    assert report.hint or outcome is None


def test_every_recorded_stream_is_in_the_matrix_and_read_without_a_damaged_line() -> None:
    assert sorted(copilot_names()) == sorted(name for name, _, _ in MATRIX)
    assert not [warning for name in copilot_names() for warning in replay(name)[0].warnings]


def test_its_stream_is_told_and_what_was_denied_does_not_count_as_done() -> None:
    report, events = replay("deeds")
    assert [event for event in events if isinstance(event, Acted)] == [Acted("create"), Acted("bash")]
    assert [event.tool for event in events if isinstance(event, UsedTool)] == [
        *("create", "bash", "bash", "bash", "create"),
    ]
    assert [event for event in events if isinstance(event, Spoke)] == [Spoke("Creating."), Spoke("All done.")]
    # What the guard refused it tells itself.
    assert report.denials == ("bash: not allowed", "create: not allowed")
    assert report.final_text == "All done."
    assert (report.usage.known, report.usage.turns) == (False, 6)


@pytest.mark.parametrize(
    ("data", "outcome", "code"),
    [
        ({"message": "autopilot: host", "statusCode": 403}, Outcome.CONFIGURATION, "agent-host-refused"),
        ({"message": "slow", "statusCode": 429}, Outcome.AGENT_FAILED, "agent-rate-limited"),
        ({"message": "down", "statusCode": 529}, Outcome.AGENT_FAILED, "agent-service-down"),
        ({"message": "Flux is low"}, Outcome.AGENT_FAILED, "agent-error"),
        ({"statusCode": [401]}, Outcome.AGENT_FAILED, "agent-error"),
    ],
)
def test_its_errors_are_sorted_even_where_it_ends_in_0(data: object, outcome: Outcome, code: str) -> None:
    report, _ = play(told({"type": "session.error", "data": data}, {"type": "result", "exitCode": 0}))
    assert (report.outcome, report.code) == (outcome, code)


@pytest.mark.parametrize(
    ("events", "exit_code", "outcome", "code"),
    [
        ((), 127, Outcome.AGENT_MISSING, "agent-missing"),
        ((), 1, Outcome.AGENT_FAILED, "agent-failed-unknown"),
        ((), 0, Outcome.AGENT_FAILED, "agent-no-result"),
        (({"type": "result", "exitCode": 1},), 0, Outcome.AGENT_FAILED, "agent-no-result"),
    ],
)
def test_an_end_without_a_result_is_a_failure(
    events: tuple[object, ...], exit_code: int, outcome: Outcome, code: str
) -> None:
    report, _ = play(told(*events), exit_code, "no")
    assert (report.outcome, report.code) == (outcome, code)


@pytest.mark.field_report("AGT-021")
@pytest.mark.parametrize("code", [1, 137, -9])
def test_a_good_result_followed_by_a_bad_exit_is_kept_with_a_warning(code: int) -> None:
    report, _ = play(told({"type": "result", "exitCode": 0}), code)
    assert report.outcome is None
    assert any("non-zero exit after result" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    "strange",
    [
        *({"type": 3}, {"type": "new.thing"}, {"type": ["x"]}, {}, {"type": "assistant.message", "data": 1}),
        *({"type": "tool.execution_start", "data": {"toolCallId": {}}}, {"type": "tool.execution_complete"}),
    ],
)
def test_strange_events_are_tolerated(strange: object) -> None:
    report, _ = play(told(strange, {"type": "result", "exitCode": 0}))
    assert report.outcome is None


def test_a_type_of_a_family_that_nobody_knows_is_told_of() -> None:
    done = {"type": "result", "exitCode": 0}
    report, _ = play(told({"type": "session.brand_new"}, {"type": "brand.new"}, {"type": 7}, done))
    assert report.warnings == ("unknown event types: (no type), brand.new",)


def test_an_agent_that_talks_without_end_does_not_fill_our_memory() -> None:
    denied = {"type": "tool.execution_complete", "data": {"error": {"code": "denied"}}}
    starts = [
        {"type": "tool.execution_start", "data": {"toolCallId": f"{number}", "toolName": "x" * 500}}
        for number in range(2000)
    ]
    report, events = play(told(*starts, *([denied] * 500)))
    assert len(report.denials) == 100
    assert max(len(event.tool) for event in events if isinstance(event, UsedTool)) <= 70
