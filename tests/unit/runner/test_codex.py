"""What Codex's stream and its end mean, over streams that it wrote."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from autopilot.runner.agents.adapter import AgentReport, Ending
from autopilot.runner.agents.codex import CodexAgent
from autopilot.runner.agents.codex_ledger import CodexLedger
from autopilot.runner.agents.codex_stream import CodexStream
from autopilot.runner.agents.codex_verdict import judge, resets_ms
from autopilot.runner.agents.events import Acted, AgentEvent, Hopeless, Spent, Spoke, UsedTool
from autopilot.schemas.price import TokenCount, TokenPrice
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.captures import Capture, capture, codex_record
from tests.support.orders import make_order

PRICES = {
    "gpt-5.5": TokenPrice(input=5_000_000, output=30_000_000, cache_read=500_000, cache_write=5_000_000)
}


def ending(code: int, tail: str = "") -> Ending:
    return Ending(code, None, tail) if code >= 0 else Ending(None, -code, tail)


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def play(
    stream: CodexStream, data: bytes, code: int = 0, tail: str = ""
) -> tuple[AgentReport, list[AgentEvent]]:
    events = [event for start in range(0, len(data), 97) for event in stream.feed(data[start : start + 97])]
    return judge(stream, ending(code, tail)), events + stream.end()


def replay(recorded: Capture) -> tuple[AgentReport, list[AgentEvent]]:
    stream = CodexStream()
    stream.prices, stream.model = PRICES, "gpt-5.5"
    return play(stream, recorded.stdout, recorded.exit_code, recorded.stderr)


def test_cached_input_is_part_of_the_input_and_cheaper() -> None:
    usage = replay(capture("codex", "patch"))[0].usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (2400, 1900, 170)
    assert (usage.cost_micro_usd, usage.known) == (12_000 + 950 + 5_100, True)


def test_a_resumed_thread_counts_only_what_it_added() -> None:
    stream = CodexStream(before=TokenCount(input=1000, output=1000))
    report, _ = play(stream, capture("codex", "resumed").stdout)
    assert (report.usage.input_tokens, report.usage.output_tokens) == (1000, 1000)


def test_without_a_price_its_cost_is_unknown_and_never_free() -> None:
    report, _ = play(CodexStream(), capture("codex", "patch").stdout)
    assert (report.usage.known, report.usage.unpriced) == (False, ("",))


@pytest.mark.parametrize(
    ("name", "is_known"), [("usage-limit", True), ("error-401", True), ("cut", False), ("sigterm", False)]
)
def test_a_turn_that_failed_is_free_only_where_nothing_can_have_been_used(name: str, is_known: bool) -> None:
    usage = replay(capture("codex", name))[0].usage
    assert (usage.known, usage.cost_micro_usd) == (is_known, 0)


def test_a_tool_is_told_when_it_begins_so_that_the_guard_can_be_asked_whether_it_knows_of_it() -> None:
    _, events = replay(capture("codex", "patch"))
    tools = [event.tool for event in events if isinstance(event, UsedTool) and event.tool]
    assert tools == ["Bash", "apply_patch", "Bash"]
    assert events.count(Acted()) == 3
    assert Spoke("Done: hello.txt created.") in events


def test_a_command_in_another_shell_than_bash_is_given_up_at_once() -> None:
    item = {
        "id": "i",
        "type": "command_execution",
        "command": "/bin/zsh -lc 'echo =ls'",
        "status": "in_progress",
    }
    agent = CodexAgent()
    assert agent.feed(lines({"type": "item.started", "item": item})) == [Hopeless("agent-other-shell")]
    report = agent.finish(ending(-15))
    assert (report.outcome, report.code) == (Outcome.AGENT_FAILED, "agent-other-shell")


def test_the_usage_limits_date_is_read_in_this_machines_zone() -> None:
    report, _ = replay(capture("codex", "usage-limit"))
    local = datetime(2027, 1, 15, 8, 0)  # noqa: DTZ001 - as it is told
    assert report.resets_ms == int(local.timestamp()) * 1000


@pytest.mark.parametrize(
    ("words", "there"),
    [
        ("try again at Dec 1st, 2026 12:05 AM.", datetime(2026, 12, 1, 0, 5)),  # noqa: DTZ001
        ("try again at Dec 22nd, 2026 12:00 PM.", datetime(2026, 12, 22, 12, 0)),  # noqa: DTZ001
        ("try again at 3:05 PM.", None),
        ("try again at Foo 1st, 2026 1:00 PM", None),
        ("try again at Feb 31st, 2026 1:00 PM", None),
        ("try again later", None),
    ],
)
def test_a_time_is_read_only_where_it_is_whole(words: str, there: datetime | None) -> None:
    assert resets_ms(words) == (None if there is None else int(there.timestamp()) * 1000)


def test_tokens_are_known_while_it_works_from_the_record_that_it_keeps(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    stream = CodexStream(CodexLedger(sessions))
    stream.prices = PRICES
    assert stream.feed(b"") == []
    day = sessions / "2026" / "11" / "30"
    day.mkdir(parents=True)
    record, cut = day / "rollout-1.jsonl", codex_record().rindex(b'{"timestamp"')
    record.write_bytes(codex_record()[: codex_record().index(b"token_count")])
    assert stream.feed(lines({"type": "turn.started"})) == []
    record.write_bytes(codex_record()[:cut])
    assert stream.look() == [Spent(6_500, 1000, 50, 0, is_priced=True)]
    record.write_bytes(codex_record())
    assert stream.look() == [Spent(13_000, 2000, 100, 0, is_priced=True)]
    done = {"type": "turn.completed", "usage": {"input_tokens": 2000, "output_tokens": 100}}
    assert stream.feed(lines(done)) == [Spent(13_000, 2000, 100, 0, is_priced=True)]
    assert stream.usage(is_whole=True).cost_micro_usd == 13_000


@pytest.mark.parametrize(
    "usage",
    [None, {}, "all", {"input_tokens": "9", "output_tokens": 1}, {"input_tokens": 9, "output_tokens": -1}],
)
def test_a_turn_without_usable_counts_is_of_unknown_cost_until_the_next_tells_the_total(
    usage: object,
) -> None:
    stream = CodexStream()
    stream.prices, stream.model = PRICES, "gpt-5.5"
    stream.feed(lines({"type": "turn.completed", "usage": usage}))
    assert not stream.usage(is_whole=True).known
    stream.feed(lines({"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 1}}))
    assert stream.usage(is_whole=True).known


def test_a_record_that_cannot_be_read_is_of_unknown_cost_until_the_turn_tells_its_own(tmp_path: Path) -> None:
    day = tmp_path / "2026" / "11" / "30"
    day.mkdir(parents=True)
    total = {"total_token_usage": {"input_tokens": "many", "output_tokens": 1}}
    (day / "rollout-1.jsonl").write_bytes(lines({"payload": {"type": "token_count", "info": total}}))
    stream = CodexStream(CodexLedger(tmp_path))
    stream.prices, stream.model = PRICES, "gpt-5.5"
    stream.feed(lines({"type": "turn.failed", "error": {"message": "last status: 429"}}))
    assert not stream.usage(is_whole=True).known
    stream.feed(lines({"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 1}}))
    assert stream.usage(is_whole=True).known


def test_what_stands_in_the_records_place_does_no_harm(tmp_path: Path) -> None:
    day = tmp_path / "2026" / "11" / "30"
    day.mkdir(parents=True)
    (tmp_path / "secret").write_bytes(codex_record())
    (day / "rollout-1.jsonl").symlink_to(tmp_path / "secret")
    assert CodexLedger(tmp_path).news() == []
    (day / "rollout-1.jsonl").unlink()
    (day / "rollout-1.jsonl").mkdir()
    assert CodexLedger(tmp_path).news() == []
    (day / "rollout-1.jsonl").rmdir()
    (day / "rollout-1.jsonl").write_bytes(b'\xff{"payload": 3}\n[1]\n{"payload": {"type": "token_count"}}\n')
    assert CodexLedger(tmp_path).news() == []


def test_it_is_one_of_the_agents_that_can_be_configured(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("go")
    launch = CodexAgent().launch(make_order(AgentSpec(name="codex", kind="codex"), tmp_path))
    assert launch.argv[1:4] == ("exec", "--json", "--skip-git-repo-check")
