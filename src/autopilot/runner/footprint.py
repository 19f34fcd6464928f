"""How much disk the folders of a run take, and whether that is more than they may.

Looks a little at each call and never for long: a worktree may have a million files. Must not end or remove
anything: it gives the reason for which everything of the run is ended. Source: docs/decisions/0162.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.schemas.cell import SandboxSpec

_SETTING = "of disk ([sandbox] disk_mib)"
_LOOK_EVERY_S = 3.0
_SLICE_S = 0.02
_REST = 9
"""After a slice, so many times as long nothing: a tenth of the time at most."""
_AT_ONCE = 200
_BLOCK = 512
_SHARE = 2
_MIB = 1 << 20
_LEAST_BYTES = 1 << 30
"""On a disk that has less than twice this left, the disk itself is the bound, and the floor of free disk."""


class Footprint:
    """Of one run. Once it was too large, it stays so: what was removed meanwhile does not count."""

    def __init__(self, folders: Sequence[Path], most_bytes: int, clock: Clock) -> None:
        """Take the folders, none of which lies in another, and what they may take together."""
        self.most_bytes = most_bytes
        self._folders, self._clock = folders, clock
        self._walk: Iterator[int] | None = None
        self._sum, self._next_s = 0, 0.0
        self._is_doubted = False
        self.is_over = False

    @classmethod
    def of(cls, spec: SandboxSpec, folders: Sequence[Path], clock: Clock) -> Footprint:
        """Take what the operator configured; 0 is half of what is free now, but 1 GiB at least.

        Raises:
            OSError: the last of the folders is not there.
        """
        free = shutil.disk_usage(folders[-1]).free
        return cls(folders, spec.disk_mib * _MIB or max(_LEAST_BYTES, free // _SHARE), clock)

    @property
    def reason(self) -> str:
        """Say that they took more than they may."""
        return f"more than {self.most_bytes // _MIB} MiB {_SETTING}"

    def or_over(self, should_stop: Callable[[], str | None] | None) -> Callable[[], str | None]:
        """Ask somebody else first, then look."""
        return lambda: (should_stop() if should_stop is not None else None) or self.over()

    def bounded(self, spec: SandboxSpec) -> SandboxSpec:
        """Give the settings with what no single file may be larger than."""
        return spec.model_copy(update={"disk_mib": self.most_bytes // _MIB})

    def over(self) -> str | None:
        """Look on; give the reason to end it all when they are too large."""
        now_s = self._clock.monotonic_s()
        if not self.is_over and now_s >= self._next_s:
            self._look(now_s)
        return self.reason if self.is_over else None

    def settled(self) -> str | None:
        """Count it all at once, as often as it takes to be believed: for when the disk is full already."""
        is_over = self.is_over or all(sum(_sizes(self._folders)) > self.most_bytes for _ in range(2))
        self.is_over = is_over
        return self.reason if is_over else None

    def _look(self, now_s: float) -> None:
        if self._walk is None:
            self._walk, self._sum = _sizes(self._folders), 0
        until_s, number = now_s + _SLICE_S, 0
        for number, size in enumerate(self._walk, start=1):
            self._sum += size
            if self._sum > self.most_bytes:
                self._found_large()
                return
            if number % _AT_ONCE == 0 and (done_s := self._clock.monotonic_s()) >= until_s:
                self._next_s = done_s + (done_s - now_s) * _REST
                return
        self._walk, self._is_doubted = None, False
        done_s = self._clock.monotonic_s()
        self._next_s = done_s + max(_LOOK_EVERY_S, (done_s - now_s) * _REST)

    def _found_large(self) -> None:
        """Count anew before that is believed: what was moved or removed meanwhile may count twice."""
        self._walk, self._next_s = None, 0.0
        self.is_over, self._is_doubted = self._is_doubted, True


def is_about_disk(reason: str) -> bool:
    """Tell this reason from those of others."""
    return reason.endswith(_SETTING)


def _sizes(folders: Sequence[Path]) -> Iterator[int]:
    """Give the bytes on the disk of each entry; of a file with several names a part for each."""
    todo = [os.fspath(folder) for folder in folders]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder:
                        todo.append(entry.path)
                    yield status.st_blocks * _BLOCK // (1 if is_folder else max(1, status.st_nlink))
