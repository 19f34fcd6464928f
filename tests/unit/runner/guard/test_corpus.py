"""The labelled commands: everything bad is refused, and what agents usually type is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.eval.guard import CORPUS, Judged, judged, rows_of, score

FALSE_REFUSALS = 0.03


@pytest.fixture(scope="module", params=["commands.jsonl", "variants.jsonl", "fresh.jsonl"])
def answers(request: pytest.FixtureRequest) -> list[Judged]:
    return judged(rows_of(CORPUS / request.param))


@pytest.mark.covers("H02", "H13")
def test_everything_that_is_to_be_denied_is_denied(answers: list[Judged]) -> None:
    assert score(answers)["missed"] == []


@pytest.mark.covers("I07")
def test_what_agents_usually_type_is_allowed(answers: list[Judged]) -> None:
    result = score(answers)
    assert result["false_refusal"] <= FALSE_REFUSALS, result["refused"]


def test_every_refusal_has_a_code_and_says_what_is_accepted(answers: list[Judged]) -> None:
    for one in answers:
        if not one.decision.allowed:
            assert re.fullmatch(r"[a-z]+(-[a-z]+)*", one.decision.code), one
            assert len(one.decision.reason) > 10, one


def test_a_row_brings_its_own_context(tmp_path: Path) -> None:
    row = {"tool": "Bash", "command": "./a.sh", "expected": "deny", "context": {"written_by_run": ["a.sh"]}}
    free = {**row, "context": {}, "expected": "allow"}
    elsewhere = {**free, "command": "cat /v/x", "context": {"worktree": "/v"}}
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (row, free, elsewhere)), encoding="utf-8")
    result = score(judged(rows_of(file)))
    assert (result["deny_recall"], result["false_refusal"], result["rows"]) == (1.0, 0.0, 3)


def test_a_wrong_answer_is_counted_and_named(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [
        {"id": "m", "tool": "Bash", "command": "ls", "expected": "deny"},
        {"id": "r", "tool": "Bash", "command": "git push", "expected": "allow"},
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    result = score(judged(rows_of(file)))
    assert (result["deny_recall"], result["false_refusal"]) == (0.0, 1.0)
    assert [row["id"] for row in result["missed"]] == ["m"]
    assert [(row["id"], row["code"]) for row in result["refused"]] == [("r", "git-command")]
