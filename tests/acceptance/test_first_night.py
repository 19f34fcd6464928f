"""A person's first night, typed command by command: three orders in the evening, a digest in the morning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.house import House, Steps
from tests.support.wait import wait_until

LIES: Steps = [
    {"spend": {"usd": 0.03}},
    {"write": {"path": "NOTES.md", "text": "Mended."}},
    {"lie": "All tests pass"},
]
PATIENCE_S = 90.0


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, settings="max_parallel_agents = 3\nper_repo_parallel = 3\n", liar=LIES)
    swap = house.mend()[2]["replace"]
    asks: Steps = [{"ask": "Round up or down?"}, {"say": "$ANSWER it is"}, {"replace": swap}]
    house.add_agent("asker", asks)
    yield house
    house.clean_up()


def typed(house: House, *words: str, code: int = 0) -> str:
    done = house.daemon.autopilot(*words)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def read(house: House, *words: str) -> Any:  # noqa: ANN401 - whatever the command prints
    return json.loads(typed(house, *words, "--json"))


def rested(house: House, name: str, state: str) -> dict[str, Any]:
    def found() -> dict[str, Any]:
        ticket: dict[str, Any] = read(house, "show", name)["ticket"]
        return ticket if ticket["state"] == state else {}

    return wait_until(found, PATIENCE_S, f"{name} is {state}")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.covers("B01", "B09", "B10", "G04")
def test_three_orders_in_the_evening_are_a_draft_a_refusal_and_a_question_in_the_morning(
    house: House,
) -> None:
    for agent, text in (("good", "Lose no cent"), ("liar", "Write it down"), ("asker", "Round the rest")):
        assert "queued" in typed(house, "add", text, "--agent", agent, "--repo", "bill")
    assert [ticket["state"] for ticket in read(house, "list")["tickets"]] == ["queued"] * 3
    assert "switch-off" in typed(house, "why", "T-1")

    typed(house, "on", "--now")
    try:
        rested(house, "T-1", "published")
        assert rested(house, "T-2", "parked")["waiting_for"] == "breaker"
        assert rested(house, "T-3", "parked")["waiting_for"] == "questions"

        digest = typed(house, "digest")
        assert "T-1" in digest
        assert "Round up or down?" in digest
        assert "local://bill/pull/1" in digest

        typed(house, "answer", "T-3", "Down")
        rested(house, "T-3", "published")
        assert "Lose no cent" in typed(house, "review")

        typed(house, "off")
        late = read(house, "add", "Too late", "--repo", "bill")["ticket"]
        assert "switch-off" in typed(house, "why", late["id"])
        assert read(house, "status")["switch"]["is_on"] is False
    finally:
        typed(house, "daemon", "stop")
    assert read(house, "status")["daemon"] is None
    house.assert_in_order(is_stopped=True)
    assert [draft.draft for draft in house.pull_requests()] == [True, True]
