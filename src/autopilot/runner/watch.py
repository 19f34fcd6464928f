"""Watches whether an agent gets anywhere: tools it uses, files it changes.

Must not read a file's content: names, sizes and times are enough, and a worktree may be large.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock

_SKIPPED = frozenset({".git", "node_modules", ".venv"})
_MAX_ENTRIES = 200_000


class Watch:
    """One agent process under watch."""

    def __init__(
        self, worktree: Path, *, clock: Clock, no_progress_s: float, stop: Callable[[], str | None]
    ) -> None:
        """Take the worktree, the seconds without progress that are too many, and who may ask us to stop."""
        self._worktree, self._clock, self._stop = worktree, clock, stop
        self._no_progress_s = no_progress_s
        self._since_s = clock.monotonic_s()
        self._print = tree_print(worktree)

    def progressed(self) -> None:
        """Note a sign of progress."""
        self._since_s = self._clock.monotonic_s()

    def should_stop(self) -> str | None:
        """Give the reason to stop the agent: somebody asked for it, or it gets nowhere."""
        if reason := self._stop():
            return reason
        now_s = self._clock.monotonic_s()
        if now_s - self._since_s < self._no_progress_s:
            return None
        seen, self._print = self._print, tree_print(self._worktree)
        if seen == self._print:
            return "no-progress"
        self._since_s = now_s
        return None


def tree_print(worktree: Path) -> str:
    """Fingerprint the names, sizes and times of a worktree's files."""
    digest = hashlib.sha256()
    for _, entry in zip(range(_MAX_ENTRIES), _entries(worktree), strict=False):
        digest.update(entry)
    return digest.hexdigest()


def _entries(folder: Path) -> Iterator[bytes]:
    folders = [os.fspath(folder)]
    while folders:
        try:
            found = sorted(os.scandir(folders.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in found:
            if entry.name in _SKIPPED:
                continue
            try:
                seen = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            else:
                yield os.fsencode(f"{entry.path}\0{seen.st_size}\0{seen.st_mtime_ns}\0{seen.st_mode}\0")
