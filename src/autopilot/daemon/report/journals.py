"""The ends of the daemon's log, of its terminal's output and of the last runs' journals, and crash reports.

Must not read more than the end of a file, follow a link, or keep what was said in words unless a person asks.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from autopilot.config.foreign_file import UnreadableError, open_plain
from autopilot.config.logs import LOG_FILE
from autopilot.config.paths import EVENTS_FILE, PUBLISH_EVENTS_FILE, PUBLISH_FOLDER
from autopilot.daemon.report.pieces import KIB, Journal, Left, Text
from autopilot.daemon.report.words import bare_line, bare_output, bare_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.report.pieces import Given, Piece

OUTPUT_FILE = "daemon.out"
RUNS = 5
JOURNAL_BYTES = 64 * KIB
_OUTPUT_BYTES = 64 * KIB
_CRASHES = 3
_OLDER_LOGS = 10_000


def log(given: Given, limit: Limit) -> Iterator[Piece]:
    """Give the end of the daemon's log, as far back as was asked for, over files that were turned over."""
    most = given.wish.log_kib * KIB
    file = given.paths.logs / LOG_FILE
    ends: list[bytes] = []
    for path in (file, *(file.with_name(f"{LOG_FILE}.{number}") for number in range(1, _OLDER_LOGS))):
        left = most - sum(map(len, ends))
        if left <= 0 or limit.should_stop() or not path.exists():
            break
        ends.insert(0, end_of(path, left))
    if not ends:
        yield Left("log", f"there is no {file}")
        return
    yield _journal("logs/autopilot.jsonl", "the end of the daemon's log", b"".join(ends), given)
    yield from _output(given)


def _output(given: Given) -> Iterator[Piece]:
    """Give what a daemon that a terminal started said there: traces of threads among it."""
    try:
        text = end_of(given.paths.logs / OUTPUT_FILE, _OUTPUT_BYTES).decode("utf-8", "replace")
    except UnreadableError as exc:
        yield Left(f"logs/{OUTPUT_FILE}", str(exc))
        return
    yield Text(
        f"logs/{OUTPUT_FILE}",
        "the end of what daemons wrote to their terminal",
        text if given.wish.with_texts else bare_output(text),
    )


def runs(given: Given, limit: Limit) -> Iterator[Piece]:
    """Give the ends of the journals of the runs that wrote last."""
    found = _latest(given.paths.runs, EVENTS_FILE)
    if not found:
        yield Left("runs", "no run has left a journal here")
    for folder in found[:RUNS]:
        for name in (EVENTS_FILE, f"{PUBLISH_FOLDER}/{PUBLISH_EVENTS_FILE}"):
            if limit.should_stop():
                return
            if (folder / name).exists():
                shown = f"runs/{folder.name}/{name.rpartition('/')[2]}"
                content = end_of(folder / name, JOURNAL_BYTES)
                yield _journal(shown, "the end of a run's journal", content, given)
    if len(found) > RUNS:
        yield Left(f"{len(found) - RUNS} more runs", f"the last {RUNS} are enough")


def crashes(given: Given, _: Limit) -> Iterator[Piece]:
    """Give the newest crash reports: where a command went through, and the kind of its error."""
    folder = given.paths.reports
    found = sorted(folder.glob("crash-*.txt"), reverse=True) if folder.is_dir() else []
    for path in found[:_CRASHES]:
        text = end_of(path, JOURNAL_BYTES).decode("utf-8", "replace")
        head, trace = text.split("\n\n", 1) if "\n\n" in text else (text, "")
        shown = text if given.wish.with_texts else f"{_facts_of(head)}\n\n{bare_trace(trace)}\n"
        yield Text(f"crashes/{path.name}", "a command that ended with a bug", shown)
    if len(found) > _CRASHES:
        yield Left(f"{len(found) - _CRASHES} older crash reports", "the newest are enough")


def _facts_of(head: str) -> str:
    """Keep the lines that `crash.report` writes above a trace."""
    known = ("time ", "autopilot ", "verb ", "python ", "system ")
    return "\n".join(line for line in head.splitlines() if line.startswith(known))


def end_of(path: Path, most_bytes: int) -> bytes:
    """Give the end of a file, from the beginning of a line on.

    Raises:
        UnreadableError: it is absent, no plain file, or closed to us.
    """
    descriptor = open_plain(path)
    with os.fdopen(descriptor, "rb") as file:
        try:
            size = os.fstat(descriptor).st_size
            start = max(0, size - most_bytes)
            file.seek(start)
            content = file.read(most_bytes)
        except OSError as exc:
            raise UnreadableError(f"it cannot be read: {exc.strerror}") from exc
    return content.partition(b"\n")[2] if start else content


def _latest(folder: Path, name: str) -> list[Path]:
    """Give the folders that hold such a file, the one that was written to last first."""
    stamped = []
    for each in folder.iterdir() if folder.is_dir() else ():
        try:
            stamped.append(((each / name).lstat().st_mtime_ns, each.name, each))
        except OSError:
            continue
    return [each for *_, each in sorted(stamped, reverse=True)]


def _journal(name: str, about: str, content: bytes, given: Given) -> Journal:
    keep: Callable[[dict[str, Any]], dict[str, Any]] = dict if given.wish.with_texts else bare_line
    return Journal(name, about, tuple(_lines(content.splitlines(), keep)))


def _lines(
    raw: Iterable[bytes], keep: Callable[[dict[str, Any]], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Read lines; of one that is none of ours only the size is told."""
    for line in raw:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        yield keep(found) if isinstance(found, dict) else {"unreadable_bytes": len(line)}
