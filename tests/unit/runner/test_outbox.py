import json
from pathlib import Path

from autopilot.config.journal import read_lines
from autopilot.runner.outbox import Outbox
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome, RunResult
from tests.support.clock import NIGHT_START_MS, FakeClock


def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path, "T-1-a1-00000000", FakeClock())


def test_an_event_is_one_line_with_its_time_run_and_facts(tmp_path: Path) -> None:
    outbox(tmp_path).tell(Event.AGENT_SPENT, {"cost_micro_usd": 5, "known": True})
    assert read_lines(tmp_path / "events.jsonl").entries == (
        {
            "ts": NIGHT_START_MS,
            "event": "agent.spent",
            "run": "T-1-a1-00000000",
            "cost_micro_usd": 5,
            "known": True,
        },
    )


def test_a_long_text_in_an_event_is_cut(tmp_path: Path) -> None:
    outbox(tmp_path).tell(Event.AGENT_SPOKE, {"text": "x" * 100_000})
    [entry] = read_lines(tmp_path / "events.jsonl").entries
    assert len(entry["text"]) == 4000


def test_the_result_is_one_whole_readable_file(tmp_path: Path) -> None:
    result = RunResult(
        run_id="T-1-a1-00000000",
        ticket_id="T-1",
        attempt=1,
        fence=3,
        outcome=Outcome.STOPPED,
        code="stopped",
        message="stopped",
        branch="autopilot/t-1-x",
        started_ms=1,
        finished_ms=2,
    )
    outbox(tmp_path).write_result(result)
    written = (tmp_path / "result.json").read_text()
    assert RunResult.model_validate_json(written) == result
    assert json.loads(written)["outcome"] == "stopped"
