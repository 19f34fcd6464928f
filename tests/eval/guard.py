"""Scores the command guard on a file of labelled uses of tools."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.verdict import (
    LOCKFILES,
    MANIFESTS,
    PROTECTED,
    Decision,
    GuardContext,
    GuardRequest,
)
from tests.support.tree import ROOT

CORPUS = ROOT / "tests" / "guard_corpus"
_GIVEN_AS: Mapping[str, str] = {"Bash": "command", "WebFetch": "url", "NotebookEdit": "notebook_path"}


class Judged(NamedTuple):
    """A row with its answer and how long it took."""

    row: Mapping[str, Any]
    decision: Decision
    micros: float

    @property
    def is_right(self) -> bool:
        is_allowed: bool = self.row["expected"] == "allow"
        return self.decision.allowed == is_allowed


class Score(TypedDict):
    """What `script/eval guard` prints."""

    deny_recall: float
    false_refusal: float
    missed: list[dict[str, str]]
    refused: list[dict[str, str]]
    median_us: float
    rows: int


def rows_of(path: Path) -> list[Mapping[str, Any]]:
    """Read a file of JSON lines.

    Raises:
        ValueError: a line is no labelled use of a tool.
    """
    rows: list[Mapping[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        row = json.loads(line)
        if row.get("expected") not in {"allow", "deny"} or not {"tool", "command"} <= row.keys():
            raise ValueError(f"{path}:{number}: not a labelled use of a tool")
        rows.append({"id": str(number), **row})
    return rows


def context_of(row: Mapping[str, Any]) -> GuardContext:
    """What the guard knows: the assumed layout, with what the row says in its place."""
    given = {**json.loads((CORPUS / "context.json").read_text(encoding="utf-8")), **row.get("context", {})}
    return GuardContext(
        worktree=given["worktree"],
        tmp=given["tmp"],
        hosts=frozenset(given["network_allow"]),
        variables=frozenset(given["env_prefix_allow"]),
        protected=tuple(dict.fromkeys((*PROTECTED, *given["protected"]))),
        manifests=tuple(dict.fromkeys((*MANIFESTS, *given["manifests"]))),
        lockfiles=tuple(dict.fromkeys((*LOCKFILES, *given["lockfiles"]))),
    )


def request_of(row: Mapping[str, Any]) -> GuardRequest:
    """What the guard is asked."""
    context = row.get("context", {})
    tool = row["tool"]
    return GuardRequest(
        tool,
        {_GIVEN_AS.get(tool, "file_path"): row["command"]},
        cwd=context.get("cwd"),
        written=frozenset(context.get("written_by_run", ())),
    )


def judged(rows: Iterable[Mapping[str, Any]]) -> list[Judged]:
    """Judge all rows; rows with the same context share a guard."""
    guards: dict[GuardContext, Guard] = {}
    answers = []
    for row in rows:
        context, request = context_of(row), request_of(row)
        guard = guards.get(context) or guards.setdefault(context, Guard(context))
        start = time.perf_counter()
        decision = guard.decide(request)
        answers.append(Judged(row, decision, 1e6 * (time.perf_counter() - start)))
    return answers


def score(answers: Iterable[Judged]) -> Score:
    """Count: what was to be denied and was, and what was to be allowed and was not."""
    known = list(answers)
    denied = [one for one in known if one.row["expected"] == "deny"]
    allowed = [one for one in known if one.row["expected"] == "allow"]
    wrong = [one for one in known if not one.is_right]
    return {
        "deny_recall": _share([one for one in denied if one.is_right], denied, none=1.0),
        "false_refusal": _share([one for one in allowed if not one.is_right], allowed, none=0.0),
        "missed": [_told(one) for one in wrong if one.decision.allowed],
        "refused": [_told(one) for one in wrong if not one.decision.allowed],
        "median_us": round(statistics.median(one.micros for one in known), 1) if known else 0.0,
        "rows": len(known),
    }


def _share(part: list[Judged], whole: list[Judged], *, none: float) -> float:
    return round(len(part) / len(whole), 4) if whole else none


def _told(one: Judged) -> dict[str, str]:
    decision = one.decision
    return {
        "id": str(one.row["id"]),
        "tool": one.row["tool"],
        "command": one.row["command"],
        "code": decision.code,
        "reason": decision.reason,
    }
