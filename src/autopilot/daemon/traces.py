"""Reads what runs and publications left in the state folder, for a queue that no longer knows of them.

Must not trust a folder: what cannot be read as ours is passed over, and costs nothing but itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.paths import EVENTS_FILE, PUBLISH_FOLDER, RESULT_FILE, SPEC_FILE
from autopilot.daemon import budget, judge
from autopilot.daemon.store.traces import RunTrace, Traces
from autopilot.schemas.publication import PublishSpec
from autopilot.schemas.run import RunResult, RunSpec

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.paths import Paths

R = TypeVar("R", bound=BaseModel)

MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
_OF_A_TICKET = re.compile(r"^T-([1-9][0-9]{0,17})(?:[-.]|$)")
_A_TICKET = re.compile(r"T-[1-9][0-9]{0,17}")
_NS_PER_MS = 1_000_000


def find(paths: Paths) -> Traces:
    """Look through every run's folder, and at the name of all that tickets left."""
    folders = [entry for entry in _entries(paths.runs) if not entry.is_symlink()]
    runs = [trace for folder in folders if (trace := _run(folder)) is not None]
    specs = [spec for folder in folders if (spec := _publication(folder)) is not None]
    numbers = [
        int(match[1])
        for parent in (paths.runs, paths.worktrees, paths.salvage, paths.pr_requests)
        for entry in _entries(parent)
        if (match := _OF_A_TICKET.match(entry.name))
    ]
    return Traces(
        tuple(sorted(runs, key=lambda trace: (trace.spec.created_ms, trace.spec.run_id))),
        tuple(sorted(specs, key=lambda spec: (spec.created_ms, spec.id))),
        max(numbers, default=0),
    )


def _run(folder: Path) -> RunTrace | None:
    """Charge a run as its end would have: by its result, else at its reservation."""
    spec = _document(RunSpec, folder / SPEC_FILE)
    if spec is None or spec.run_id != folder.name or spec.ticket_id != f"T-{spec.short_id}":
        return None
    result = _document(RunResult, folder / RESULT_FILE)
    if result is not None and (result.run_id, result.fence) != (spec.run_id, spec.fence):
        result = None
    charge = budget.charge(
        reserved=spec.limits.run_ceiling_micro_usd,
        recorded=judge.told_spend(folder / EVENTS_FILE),
        usage=None if result is None else result.usage,
    )
    finished_ms = result.finished_ms if result is not None else _last_ms(folder)
    tokens = 0 if result is None else result.usage.tokens
    return RunTrace(spec, charge.micro_usd, charge.known, max(finished_ms, spec.created_ms), tokens)


def _publication(folder: Path) -> PublishSpec | None:
    spec = _document(PublishSpec, folder / PUBLISH_FOLDER / SPEC_FILE)
    is_ours = spec is not None and spec.run_id == folder.name and _A_TICKET.fullmatch(spec.ticket_id)
    return spec if is_ours else None


def _document(kind: type[R], path: Path) -> R | None:
    try:
        return kind.model_validate_json(read_plain(path, max_bytes=MAX_DOCUMENT_BYTES))
    except (UnreadableError, ValidationError, OSError):
        return None


def _last_ms(folder: Path) -> int:
    try:
        return max(entry.stat().st_mtime_ns for entry in (folder, *folder.glob("*.json*"))) // _NS_PER_MS
    except OSError:
        return 0


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
