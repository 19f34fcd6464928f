"""Finds the reports that a test run wrote: written by this run, below the checkout or at our own path.

Must not count a report that was there before, nor follow a link out of the checkout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.runner.gates.files import UnreadableError, read_plain
from autopilot.runner.stacks.junit import Report, ReportError, merge, no_container, parse_junit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autopilot.runner.stacks.stack import Place, TestCommand

MAX_REPORTS = 2000

_Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """The counted report, or why there is none; and the files of ours that hold what was counted."""

    report: Report | str
    files: tuple[Path, ...] = ()


def clear(plan: TestCommand, place: Place) -> Mapping[Path, _Stamp]:
    """Remove an old report at our own path; remember those that match a pattern as they are.

    A file below the checkout is not removed: it may be tracked, and the worktree has to stay as committed.
    """
    if plan.report is not None:
        plan.report.unlink(missing_ok=True)
    return {path: _stamp(path) for path in _matches(plan, place)}


def gather(plan: TestCommand, place: Place, before: Mapping[Path, _Stamp]) -> Found:
    """Read what this run wrote."""
    if plan.report is not None:
        return _read(plan, (plan.report,))
    fresh = [path for path in _matches(plan, place) if before.get(path) != _stamp(path)]
    if not fresh:
        return Found(f"nothing that matches {plan.pattern!r} was written")
    if len(fresh) > MAX_REPORTS:
        return Found(f"more than {MAX_REPORTS} files match {plan.pattern!r}")
    try:
        return _read(plan, tuple(_kept(path, place.out, number) for number, path in enumerate(sorted(fresh))))
    except UnreadableError as exc:
        return Found(f"{plan.pattern}: {exc}")


def _read(plan: TestCommand, files: tuple[Path, ...]) -> Found:
    is_container = plan.is_container or no_container
    try:
        reports = [parse_junit(read_plain(path), is_container=is_container) for path in files]
    except (UnreadableError, ReportError) as exc:
        return Found(str(exc))
    return Found(merge(reports), files)


def _kept(path: Path, out: Path, number: int) -> Path:
    """Copy a report out of the checkout's reach: what is judged is what is kept."""
    copy = out / f"junit-{number}.xml"
    copy.write_bytes(read_plain(path))
    return copy


def _matches(plan: TestCommand, place: Place) -> Iterator[Path]:
    root = place.checkout.resolve()
    for path in place.checkout.glob(plan.pattern) if plan.pattern else ():
        if path.parent.resolve().is_relative_to(root) and not path.is_dir():
            yield path


def _stamp(path: Path) -> _Stamp:
    """Tell one writing of a file from another. The change time cannot be set by a program."""
    try:
        status = path.lstat()
    except OSError:
        return (0, 0)
    return (status.st_ino, status.st_ctime_ns)
