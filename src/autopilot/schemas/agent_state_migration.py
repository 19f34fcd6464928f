"""Translates state documents 2.0.0 and 2.1.0, which counted eight phases, into the six of 3.0.0.

Must not guess: a number that was never a phase is refused. Works on the plain document, before validation.
Source: docs/decisions/0035 (what happens to two old phases that become one).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

OLD_VERSIONS = ("2.0.0", "2.1.0")
NEW_VERSION = "3.0.0"

# Init, Analysis, Plan, Dev, Review, Test, Commit, Report -> Init, Plan, Dev, Review, Commit, Report
NEW_PHASE: Mapping[int, int] = {0: 0, 1: 1, 2: 1, 3: 2, 4: 3, 5: 3, 6: 4, 7: 5}

_HALT = re.compile(r"^([0-7]):(.+)$", re.DOTALL)
_CLOSED = frozenset({"done", "skipped"})


def translated(document: Mapping[str, Any]) -> dict[str, Any]:
    """Give the document with new phase numbers everywhere and the new version.

    Raises:
        ValueError: a field that holds a phase holds something else; the text names it.
    """
    new = {**document, "schemaVersion": NEW_VERSION}
    current = _phase(document.get("currentPhase"), "currentPhase")
    new["currentPhase"] = NEW_PHASE[current]
    new["phases"] = _phases(document.get("phases"), current)
    if (halt := document.get("haltReason")) is not None:
        new["haltReason"] = _halt_reason(str(halt), current)
    for path in (("pendingSteer", "appliedPhase"), ("circuitBreaker", "checkpoint", "phase")):
        new = _renumbered(new, path, ".".join(path))
    telemetry = document.get("telemetry")
    if isinstance(telemetry, dict):
        new["telemetry"] = {
            key: _calls(value, f"telemetry.{key}") if key in {"mcpCalls", "skillCalls"} else value
            for key, value in telemetry.items()
        }
    return new


def _phase(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in NEW_PHASE:
        msg = f"{name}: {value!r} is no phase of a 2.x document (0 to 7)"
        raise ValueError(msg)
    return value


def _halt_reason(text: str, current: int) -> str:
    """Renumber `<phase>:<cause>`; older free text gets the phase that was entered last."""
    match = _HALT.match(text)
    return f"{NEW_PHASE[int(match[1])]}:{match[2]}" if match else f"{NEW_PHASE[current]}:{text}"


def _renumbered(part: Any, path: tuple[str, ...], name: str) -> Any:  # noqa: ANN401 - any part of the document
    if not isinstance(part, dict) or part.get(path[0]) is None:
        return part
    inner = part[path[0]]
    changed = NEW_PHASE[_phase(inner, name)] if len(path) == 1 else _renumbered(inner, path[1:], name)
    return {**part, path[0]: changed}


def _calls(calls: Any, name: str) -> Any:  # noqa: ANN401 - any part of the document
    if not isinstance(calls, list):
        return calls
    return [_renumbered(call, ("phase",), f"{name}[{at}].phase") for at, call in enumerate(calls)]


def _phases(phases: object, current: int) -> dict[str, Any]:
    if not isinstance(phases, dict):
        msg = "phases: must be an object with the keys 0 to 7"
        raise ValueError(msg)  # noqa: TRY004 - one error type for the caller
    for key in phases:
        _phase(int(key) if key.isdecimal() and len(key) == 1 else key, f"phases.{key}")
    new: dict[str, Any] = {}
    for number in sorted(set(NEW_PHASE.values())):
        old = [str(key) for key, value in NEW_PHASE.items() if value == number]
        known = [phases[key] for key in old if key in phases]
        if known:
            is_tail_open = old[-1] not in phases and current <= int(old[-1])
            new[str(number)] = known[0] if len(old) == 1 else _joined(known, is_tail_open=is_tail_open)
    return new


def _joined(records: list[dict[str, Any]], *, is_tail_open: bool) -> dict[str, Any]:
    """Make one phase of two: nothing unfinished becomes finished, nothing counted is lost."""
    joined: dict[str, Any] = {}
    for record in records:
        joined.update(record)
    statuses = [record.get("status") or "pending" for record in records] + ["pending"] * is_tail_open
    joined["status"] = _joined_status(statuses)
    joined["files"] = list(dict.fromkeys(path for record in records for path in record.get("files", ())))
    joined["retryCount"] = max(record.get("retryCount", 0) for record in records)
    if notes := [record["notes"] for record in records if record.get("notes")]:
        joined["notes"] = "\n".join(notes)
    if starts := [record["startedAt"] for record in records if record.get("startedAt")]:
        joined["startedAt"] = starts[0]
    if joined["status"] in {"pending", "in_progress"}:
        joined.pop("finishedAt", None)
    return joined


def _joined_status(statuses: list[str]) -> str:
    if "failed" in statuses:
        return "failed"
    if all(status in _CLOSED for status in statuses):
        return "done" if "done" in statuses else "skipped"
    return "pending" if all(status == "pending" for status in statuses) else "in_progress"
