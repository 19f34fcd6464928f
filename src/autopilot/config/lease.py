"""A child's lease: a file that the daemon touches, and a child that ends itself once nobody does.

What counts is that the file's time changes: its value is a counter, and no clock is compared with it.
Must not write into the file: a disk that is full must not end every run.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from autopilot.config.threads import start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autopilot.config.clock import Clock

LOST_SHARE = 0.8
"""The share of its lease that a child waits for a renewal; what is left is for ending its own tree."""
_LOOK_S = 1.0
_LOOKS_PER_LEASE = 20
_LONGEST_STEP = 3
"""Looks' worth of time that count between two looks: whoever was held still himself has missed nothing."""
_NS = 1_000_000_000  # whole seconds: some file systems keep no smaller part of a time
_TURNS = 2**31
_PRIVATE_MODE = 0o600


def renew(file: Path) -> None:
    """Let the file's time be another one than before; make the file where it is missing.

    Raises:
        OSError: its folder is gone, or closed to us.

    Source: utimensat(2): the time of a file can be set on a full disk, too.
    """
    try:
        count = file.lstat().st_mtime_ns // _NS
    except FileNotFoundError:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(file, flags, _PRIVATE_MODE))
        return
    turn = (count + 1) % _TURNS * _NS
    os.utime(file, ns=(turn, turn), follow_symlinks=False)


class LeaseWatch:
    """Tells a child once that its lease is lost: for 80 % of it, in time awake, nobody has renewed it.

    Or that nobody looks any more whether it is, whatever the thread that did has died of.
    """

    def __init__(
        self,
        file: Path,
        lease_s: float,
        *,
        clock: Clock,
        on_lost: Callable[[], object],
        on_blind: Callable[[], object],
    ) -> None:
        """Take the file, the lease in seconds, what measures time awake, and whom to tell of which."""
        self.pause_s = min(_LOOK_S, lease_s / _LOOKS_PER_LEASE)
        self._file = file
        self._allowed_s = lease_s * LOST_SHARE
        self._clock = clock
        self._on_lost = on_lost
        self._on_blind = on_blind
        self._thread = threading.Thread(target=self._follow, name="lease", daemon=True)
        self._seen = _stamp(file)
        self._looked_s = clock.monotonic_s()
        self._unheard_s = 0.0

    def start(self) -> None:
        """Look from now on, in a thread of its own that keeps nobody from ending.

        Raises:
            TransientError: `thread-unstarted`.
        """
        start(self._thread)

    @property
    def is_over(self) -> bool:
        """Tell whether nobody looks any more: for whom the dying thread had no memory to be told by it."""
        return not self._thread.is_alive()

    def look(self) -> bool:
        """Look once; say whether the lease is lost."""
        now_s, stamp = self._clock.monotonic_s(), _stamp(self._file)
        step_s, self._looked_s = now_s - self._looked_s, now_s
        if stamp is not None and stamp != self._seen:
            self._seen, self._unheard_s = stamp, 0.0
        else:
            self._unheard_s += min(step_s, _LONGEST_STEP * self.pause_s)
        return self._unheard_s >= self._allowed_s

    def _follow(self) -> None:
        is_told = False
        try:
            pause = threading.Event()
            while not (is_told := self._has_told()):
                with suppress(MemoryError):
                    pause.wait(self.pause_s)
        finally:
            if not is_told:
                self._on_blind()

    def _has_told(self) -> bool:
        """Look, and tell of a lost lease. Without memory for it again and again: nobody else does."""
        try:
            if not self.look():
                return False
            self._on_lost()
        except MemoryError:
            return False
        return True


def _stamp(file: Path) -> tuple[int, int] | None:
    """Give what a renewal changes; None where there is no file."""
    try:
        seen = file.lstat()
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns
