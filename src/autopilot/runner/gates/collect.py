"""Finds the reports that a test run wrote: written by this run, below the checkout or at our own path.

Must not count a report that was there before, follow a link out of the checkout, or write where the code
under test does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import matching
from autopilot.runner.gates.files import UnreadableError, read_plain
from autopilot.runner.stacks.junit import Report, ReportError, merge, no_container, parse_junit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autopilot.runner.stacks.stack import Place, TestCommand

MAX_REPORTS = 2000
MAX_BYTES = 256 * 1024 * 1024
"""Of all reports of a run together: one file may have many names, and each is copied."""

_Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """The counted report, or why there is none; and the files of ours that hold what was counted."""

    report: Report | str
    files: tuple[Path, ...] = ()


def clear(plan: TestCommand, place: Place) -> Mapping[Path, _Stamp] | str:
    """Remove an old report at our own path; remember those that match a pattern as they are.

    A file below the checkout is not removed: it may be tracked, and the worktree has to stay as committed.

    Returns:
        What was there, or why that cannot be told: then nothing that is found afterwards counts.
    """
    if plan.report is not None:
        plan.report.unlink(missing_ok=True)
    try:
        return {path: _stamp(path) for path in _matches(plan, place)}
    except UnreadableError as exc:
        return str(exc)


def gather(plan: TestCommand, place: Place, before: Mapping[Path, _Stamp] | str) -> Found:
    """Read what this run wrote."""
    if isinstance(before, str):
        return Found(before)
    if plan.report is not None:
        return _judged(plan, {plan.report: place.out / plan.report.name})
    try:
        fresh = [path for path in _matches(plan, place) if before.get(path) != _stamp(path)]
    except UnreadableError as exc:
        return Found(str(exc))
    if not fresh:
        return Found(f"nothing that matches {plan.pattern!r} was written")
    if len(fresh) > MAX_REPORTS:
        return Found(f"more than {MAX_REPORTS} files match {plan.pattern!r}")
    copies = {path: place.out / f"junit-{number}.xml" for number, path in enumerate(sorted(fresh))}
    return _judged(plan, copies)


def _judged(plan: TestCommand, copies: Mapping[Path, Path]) -> Found:
    """Copy reports to where only we write: what is judged is what is kept."""
    is_container = plan.is_container or no_container
    reports: list[Report] = []
    left = MAX_BYTES
    try:
        for path, copy in copies.items():
            raw = read_plain(path)
            left -= len(raw)
            if left < 0:
                return Found(f"what matches {plan.pattern!r} is more than {MAX_BYTES >> 20} MiB together")
            copy.write_bytes(raw)
            reports.append(parse_junit(raw, is_container=is_container))
    except (UnreadableError, ReportError) as exc:
        return Found(f"{plan.pattern}: {exc}" if plan.pattern else str(exc))
    return Found(merge(reports), tuple(copies.values()))


def _matches(plan: TestCommand, place: Place) -> Iterator[Path]:
    root = place.checkout.resolve()
    for path in matching(place.checkout, plan.pattern) if plan.pattern else ():
        # Unlike Path, this takes a link to what no file can be called.
        if path.parent.resolve().is_relative_to(root) and not os.path.isdir(path):  # noqa: PTH112
            yield path


def _stamp(path: Path) -> _Stamp:
    """Tell one writing of a file from another. The change time cannot be set by a program."""
    try:
        status = path.lstat()
    except OSError:
        return (0, 0)
    return (status.st_ino, status.st_ctime_ns)
