import json
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.plain import plain
from autopilot.runner.agents.adapter import AgentReport, Ending, Order
from autopilot.runner.agents.command import PROMPT_VARIABLE, CommandAgent
from autopilot.runner.agents.events import AgentEvent, Asked, Spent, Spoke, UsedTool
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.orders import make_order


def lines(*items: dict[str, Any] | str) -> bytes:
    return "".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in items).encode()


def play(data: bytes, ending: Ending | None = None) -> tuple[AgentReport, list[AgentEvent]]:
    agent = CommandAgent()
    events = agent.feed(data)
    return agent.finish(ending or Ending(0, None, "")), events


def order(tmp_path: Path, *argv: str) -> Order:
    spec = AgentSpec(name="mine", kind="command", argv=argv, env_pass=("MY_KEY",))
    return make_order(spec, tmp_path)


def test_the_prompts_path_stands_in_the_arguments_and_in_a_variable(tmp_path: Path) -> None:
    launch = CommandAgent().launch(order(tmp_path, "tool", "--file={prompt}", "{prompt}", "plain"))
    path = str(tmp_path / "prompt.md")
    assert launch.argv == ("tool", f"--file={path}", path, "plain")
    assert launch.extra == {PROMPT_VARIABLE: path}
    assert launch.passes == ("MY_KEY",)
    assert launch.stdin is None


def test_a_command_agent_without_argv_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="argv") as caught:
        CommandAgent().launch(order(tmp_path))
    assert caught.value.hint


def test_its_lines_become_events_and_plain_text_is_speech() -> None:
    report, events = play(
        lines(
            "working …",
            {"type": "message", "text": "halfway"},
            {"type": "tool", "name": "sed"},
            {"type": "usage", "cost_usd": 0.25, "input_tokens": 10, "output_tokens": 2},
            {"type": "question", "text": "Which?"},
            {"type": "surprise"},
        )
    )
    assert events == [
        Spoke("working …"),
        Spoke("halfway"),
        UsedTool("sed"),
        Spent(250_000, 10, 2),
        Asked("Which?"),
    ]
    assert report.questions == ("Which?",)
    assert (report.usage.cost_micro_usd, report.usage.known) == (250_000, True)
    assert report.outcome is None


def test_a_command_that_never_tells_its_cost_is_of_unknown_cost() -> None:
    assert not play(lines("done"))[0].usage.known


@pytest.mark.parametrize("cost", [None, -1, "1", float("nan"), float("inf")])
def test_one_unusable_cost_makes_the_whole_unknown(cost: object) -> None:
    usage = {"type": "usage", "cost_usd": 0.5}
    report, _ = play(lines(usage, {"type": "usage", "cost_usd": cost}, usage))
    assert not report.usage.known
    assert report.usage.cost_micro_usd == 500_000


@pytest.mark.parametrize(
    ("data", "ending", "outcome", "code"),
    [
        (b"", Ending(0, None, ""), None, "agent-finished"),
        (lines({"type": "result", "ok": True}), Ending(1, None, ""), None, "agent-finished"),
        (lines({"type": "result", "ok": False}), Ending(0, None, ""), Outcome.AGENT_FAILED, "agent-gave-up"),
        *(
            (lines({"type": "result", "ok": odd}), Ending(0, None, ""), Outcome.AGENT_FAILED, "agent-gave-up")
            for odd in ("true", "false", 1, 0)
        ),
        (lines("some words"), Ending(3, None, ""), Outcome.AGENT_FAILED, "agent-failed"),
        (b"", Ending(3, None, "stderr"), Outcome.AGENT_FAILED, "agent-failed"),
        (b"", Ending(1, None, ""), Outcome.AGENT_FAILED, "agent-failed-unknown"),
        (b"", Ending(127, None, "sh: x: not found"), Outcome.AGENT_MISSING, "agent-missing"),
        (b"", Ending(None, 9, ""), Outcome.AGENT_FAILED, "agent-failed-unknown"),
    ],
)
def test_its_own_result_line_counts_before_its_exit_code(
    data: bytes, ending: Ending, outcome: Outcome | None, code: str
) -> None:
    report, _ = play(data, ending)
    assert (report.outcome, report.code) == (outcome, code)


@pytest.mark.field_report("AGT-021")
@pytest.mark.parametrize(
    "ending", [Ending(1, None, ""), Ending(137, None, ""), Ending(143, None, ""), Ending(None, 9, "")]
)
def test_a_result_before_a_bad_exit_is_kept_with_a_warning(ending: Ending) -> None:
    report, _ = play(lines({"type": "result", "ok": True, "summary": "Did it."}), ending)
    assert report.final_text == "Did it."
    assert report.warnings == (
        f"non-zero exit after result ({ending}); the work is kept and the gates decide",
    )


def test_a_question_in_its_last_words_is_found_too() -> None:
    report, _ = play(lines({"type": "result", "ok": True, "summary": "AUTOPILOT-QUESTION: a or b?"}))
    assert report.questions == ("a or b?",)


@pytest.mark.field_report("AGT-036")
def test_a_failing_agents_broken_stderr_is_readable_and_the_exit_code_is_told() -> None:
    tail = plain(b"\xff\xfe error: quota\x1b[31m\x1b]0;title\x07\x9b\x00!\r\n")
    report, _ = play(b"", Ending(3, None, tail))
    assert "exit 3" in report.message
    assert "error: quota" in report.message
    assert report.message.isprintable()
