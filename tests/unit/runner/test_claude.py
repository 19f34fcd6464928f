import json
from collections.abc import Iterable
from typing import Any

import pytest

from autopilot.runner.agents.adapter import AgentReport, Ending
from autopilot.runner.agents.claude import ClaudeAgent
from autopilot.runner.agents.events import Acted, AgentEvent, Hopeless, Limited, Spent, Spoke, UsedTool
from autopilot.runner.agents.questions import questions_in
from autopilot.schemas.run import Outcome
from tests.support.captures import Capture, capture

BOTH = ("2.1.197", "2.1.332")
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "total_cost_usd": 0.5}


def ending(code: int, tail: str = "") -> Ending:
    return Ending(code, None, tail) if code >= 0 else Ending(None, -code, tail)


def play(data: bytes, code: int = 0, tail: str = "") -> tuple[AgentReport, list[AgentEvent]]:
    agent = ClaudeAgent()
    events = [event for start in range(0, len(data), 997) for event in agent.feed(data[start : start + 997])]
    return agent.finish(ending(code, tail)), events


def replay(recorded: Capture) -> tuple[AgentReport, list[AgentEvent]]:
    return play(recorded.stdout, recorded.exit_code, recorded.stderr)


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


@pytest.mark.parametrize(
    ("name", "version", "cost", "tokens"),
    [
        ("success", "2.1.197", 31_530, (7150, 140, 14100)),
        ("success", "2.1.332", 31_530, (7150, 140, 14100)),
        ("budget", "2.1.332", 54_000, (3000, 3000, 0)),
        ("two-messages", "2.1.332", 36_000, None),
        ("background", "2.1.332", 11_250, None),
        ("parallel", "2.1.332", 7_500, (2000, 100, 0)),
    ],
)
def test_cost_and_tokens_are_the_last_totals_of_the_client(
    name: str, version: str, cost: int, tokens: tuple[int, int, int] | None
) -> None:
    usage = replay(capture("claude", name, version))[0].usage
    assert (usage.cost_micro_usd, usage.known) == (cost, True)
    if tokens:
        assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == tokens


def test_the_blocks_of_one_message_count_its_usage_once() -> None:
    recorded = capture("claude", "parallel")
    started = recorded.stdout[: recorded.stdout.index(b'"type":"result"')]
    agent = ClaudeAgent()
    agent.feed(started[: started.rindex(b"\n") + 1])
    assert agent.usage().input_tokens == 2000
    assert not agent.usage().known


def test_tokens_are_told_while_it_works_once_for_each_message() -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 1}
    first = {"type": "assistant", "message": {"id": "a", "usage": usage, "content": []}}
    second = {"type": "assistant", "message": {"id": "b", "usage": usage, "content": []}}
    grown = {
        "type": "assistant",
        "message": {"id": "a", "usage": {**usage, "output_tokens": 7}, "content": []},
    }
    events = ClaudeAgent().feed(lines(first, first, second, grown))
    assert events == [Spent(None, 15, 1), Spent(None, 30, 2), Spent(None, 30, 8)]


@pytest.mark.parametrize("cost", [None, -1, float("nan"), float("inf"), "0.1", True])
def test_a_result_without_a_usable_cost_is_of_unknown_cost(cost: object) -> None:
    report, _ = play(lines({**RESULT, "total_cost_usd": cost}))
    assert report.outcome is None
    assert not report.usage.known


def test_a_cut_stream_of_requests_is_counted_from_the_models_not_the_empty_usage() -> None:
    usage = replay(capture("claude", "cut", "2.1.197"))[0].usage
    assert usage.input_tokens > 0


@pytest.mark.parametrize("version", BOTH)
def test_a_usage_limit_carries_the_time_from_the_event_not_from_the_text(version: str) -> None:
    report, events = replay(capture("claude", "usage-limit", version))
    assert report.resets_ms == 1_800_000_000_000
    assert Limited(is_refused=True, resets_ms=1_800_000_000_000, window="five_hour") in events


def test_a_weekly_limit_is_told_as_one_for_it_may_end_days_from_now() -> None:
    told = {"status": "rejected", "rateLimitType": "seven_day_opus", "resetsAt": 1_800_000_000}
    failed = {**RESULT, "is_error": True, "api_error_status": 429}
    report, _ = play(lines({"type": "rate_limit_event", "rate_limit_info": told}, failed))
    assert (report.outcome, report.code) == (Outcome.USAGE_LIMIT, "agent-usage-limit-weekly")


@pytest.mark.parametrize("version", BOTH)
def test_a_refusal_without_a_reset_time_is_no_usage_limit(version: str) -> None:
    report, _ = replay(capture("claude", "plain-429-oauth", version))
    assert report.outcome is Outcome.AGENT_FAILED
    assert report.resets_ms is None


@pytest.mark.parametrize("version", BOTH)
def test_a_wrong_key_is_given_up_after_three_refusals(version: str) -> None:
    recorded = capture("claude", "error-401", version)
    agent, fed = ClaudeAgent(), 0
    for line in recorded.stdout.splitlines(keepends=True):
        fed += b"authentication_failed" in line
        if any(isinstance(event, Hopeless) for event in agent.feed(line)):
            break
    assert fed == 3
    report = agent.finish(ending(-15))
    assert report.outcome is Outcome.CREDENTIAL
    assert "CLAUDE_CODE_OAUTH_TOKEN" in report.hint


@pytest.mark.field_report("AGT-020")
@pytest.mark.parametrize("version", BOTH)
def test_refused_tools_are_named_though_the_run_calls_itself_a_success(version: str) -> None:
    report, _ = replay(capture("claude", "denials", version))
    assert report.outcome is None
    assert any(denial.startswith("Bash(") for denial in report.denials)
    assert len(report.denials) == len(set(report.denials))


@pytest.mark.parametrize("code", [126, 127])
def test_a_launcher_that_finds_no_program_means_that_the_agent_is_missing(code: int) -> None:
    report, _ = play(b"env: node: No such file or directory\n", code, "env: node: No such file or directory")
    assert (report.outcome, report.code) == (Outcome.AGENT_MISSING, "agent-missing")
    assert "node" in report.message


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize(
    "data", [b"Hello, I am another program.\n", b"<html>\n</html>", b"\xff\xfe\x00garbage"]
)
def test_output_that_is_not_json_is_named_as_such(data: bytes, code: int) -> None:
    report, _ = play(data, code)
    assert (report.outcome, report.code) == (Outcome.AGENT_FAILED, "agent-output-not-json")
    assert "stream-json" in report.hint


def test_what_was_said_in_prose_is_repeated_to_the_person() -> None:
    report, _ = play(b"Welcome!\nRun `claude login` first.\n", 0)
    assert "Run `claude login` first." in report.message


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (529, "agent-service-down"),
        (400, "agent-error"),
        (404, "agent-model-unknown"),
        (None, "agent-not-authenticated"),
    ],
)
def test_a_status_that_is_known_decides_and_no_error_of_an_earlier_request(
    status: int | None, code: str
) -> None:
    retried = {"type": "system", "subtype": "api_retry", "error": "authentication_failed"}
    report, _ = play(lines(retried, {**RESULT, "is_error": True, "api_error_status": status}), 1)
    assert report.code == code


def test_questions_are_read_from_the_final_message_only() -> None:
    asked = "I looked.\n\nAUTOPILOT-QUESTION: Which one, a or b?\n- **AUTOPILOT-QUESTION:** And when?\n"
    early = {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": "AUTOPILOT-QUESTION: early"}]},
    }
    report, events = play(lines(early, {**RESULT, "result": asked}))
    assert report.questions == ("Which one, a or b?", "And when?")
    assert Spoke("AUTOPILOT-QUESTION: early") in events


def test_a_question_is_found_behind_a_page_of_nothing_at_once() -> None:
    assert questions_in("\n" * 300_000 + "> **AUTOPILOT-QUESTION:** Which?\n" + "> " * 300_000) == ("Which?",)


def test_a_stream_becomes_words_tools_and_spend_in_order() -> None:
    _, events = replay(capture("claude", "success"))
    assert [type(event) for event in events if not isinstance(event, Spent)] == [
        *(Spoke, UsedTool, UsedTool, Acted),
        *(Spoke, UsedTool, UsedTool, Acted),
        Spoke,
    ]
    assert events[-1] == Spent(31_530, 7150, 140, 14100)


def test_unknown_events_and_strange_shapes_are_tolerated_and_counted() -> None:
    strange: Iterable[dict[str, Any]] = (
        {"type": "brand_new"},
        {"type": 7},
        {},
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"content": "text", "usage": 5, "id": []}},
        {"type": "user", "message": {"content": [None, 3, {"type": "tool_result"}]}},
        {"type": "system", "subtype": {"x": 1}},
        {"type": "rate_limit_event", "rate_limit_info": "soon"},
        {
            "type": "result",
            "modelUsage": [1],
            "permission_denials": {"a": 1},
            "errors": 3,
            "total_cost_usd": 0,
        },
    )
    report, _ = play(lines(*strange, RESULT))
    assert report.outcome is None
    assert any("brand_new" in warning for warning in report.warnings)
