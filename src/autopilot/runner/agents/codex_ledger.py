"""Reads the tokens that Codex has used so far from the record that it keeps while it works.

Its event stream tells usage at the end of a turn only, which is too late for a ceiling. Must not trust the
record: it is the agent's file. What cannot be read is left out, and no more is read at once than a bound.
Source: measured with 0.171.0, docs/decisions/0126.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from autopilot.runner.agents.framing import JsonLines
from autopilot.runner.agents.numbers import mapping, text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MAX_READ_BYTES = 16 * 1024 * 1024
_MAX_ENTRIES = 200


class CodexLedger:
    """The record of one process: `sessions/YYYY/MM/DD/rollout-*.jsonl` below its folder."""

    def __init__(self, sessions: Path) -> None:
        """Take the folder; it need not be there yet."""
        self._sessions = sessions
        self._lines = JsonLines()
        self._file: Path | None = None
        self._read_bytes = 0
        self.model = ""

    def news(self) -> list[Mapping[str, Any]]:
        """Give the totals that were written since the last look, oldest first."""
        try:
            chunk = self._more()
        except OSError:
            return []
        found = []
        for line in self._lines.feed(chunk):
            entry = mapping(line)
            payload = mapping(entry.get("payload"))
            if entry.get("type") == "turn_context":
                self.model = text(payload.get("model")) or self.model
            elif payload.get("type") == "token_count":
                found.append(mapping(mapping(payload.get("info")).get("total_token_usage")))
        return [totals for totals in found if totals]

    def _more(self) -> bytes:
        """Read what was added.

        Raises:
            OSError: the file cannot be read, or is none.
        """
        if self._file is None:
            self._file = _first_record(self._sessions)
        if self._file is None:
            return b""
        # A pipe or a device in its place must not hold us up, nor a link lead us away.
        handle = os.open(self._file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return b""
            chunk = os.pread(handle, _MAX_READ_BYTES, self._read_bytes)
        finally:
            os.close(handle)
        self._read_bytes += len(chunk)
        return chunk


def _first_record(folder: Path, depth: int = 3) -> Path | None:
    """Find the one record: the folder is new for each process, and so holds no other's."""
    try:
        with os.scandir(folder) as entries:
            seen = [next(entries, None) for _ in range(_MAX_ENTRIES)]
    except OSError:
        return None
    for entry in sorted((one for one in seen if one is not None), key=lambda one: one.name):
        path = folder / entry.name
        if depth and entry.is_dir(follow_symlinks=False):
            found = _first_record(path, depth - 1)
            if found is not None:
                return found
        elif not depth and entry.name.startswith("rollout-") and entry.name.endswith(".jsonl"):
            return path
    return None
