"""A child whose code is the product's own, and yet stands still in the middle of it, so that others may act.

It is on a thread of its own that moves only when it is handed the turn, and hands it back: no two ever run at
once, and the same seed gives the same order. Must not touch the database, which is the other thread's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.simulation.ends import ChildKilled, Script


class _Thread(threading.Thread):
    strand: Strand | None = None


def here() -> Strand | None:
    """Give the strand that has the turn, to whoever is called on it."""
    thread = threading.current_thread()
    return thread.strand if isinstance(thread, _Thread) else None


class Strand:
    """One child's code, and how far it has come."""

    def __init__(self, act: Callable[[Strand], int]) -> None:
        self._act = act
        self._turn, self._back = threading.Lock(), threading.Lock()
        self._turn.acquire()
        self._back.acquire()
        self._thread = _Thread(target=self._run, name="strand", daemon=True)
        self._thread.strand = self
        self._wait_ms: int | None = None
        self._error: BaseException | None = None
        self._code = 0
        self._is_killed = False
        self.is_over = False
        self.is_sending = False
        """It has sent for a deed far away: killed now, that may happen all the same."""
        self.wants_frozen = False
        """SIGSTOP has come."""
        self.is_orphan = False
        """It is dead, and only what it had sent still happens."""

    # --- on its own thread ----------------------------------------------------------------------

    def pause(self, wait_ms: int | None) -> None:
        """Let the others act for a while; None: until somebody wakes it.

        Raises:
            ChildKilled: it does not go on.
        """
        self._wait_ms = wait_ms
        self._back.release()
        self._turn.acquire()
        if self._is_killed:
            raise ChildKilled

    def _run(self) -> None:
        self._turn.acquire()
        try:
            if not self._is_killed:
                self._code = self._act(self)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the turn goes to
            self._error = error
        self.is_over = True
        self._back.release()

    # --- on everybody else's --------------------------------------------------------------------

    def script(self) -> Script:
        """Be what a process does: closed, it is killed where it stands, unless what it sent is on its way."""
        self._thread.start()
        try:
            while True:
                self.go_on()
                if self.is_over:
                    return self._code
                if self.is_orphan:
                    raise ChildKilled
                yield self._wait_ms
        finally:
            if not self.is_orphan:
                self.kill()

    def go_on(self) -> None:
        """Hand it the turn until it pauses or ends; what it raises is raised here."""
        was_over = self.is_over
        assert not was_over, "who has ended gives no turn back"
        self._turn.release()
        self._back.acquire()
        if self.is_over:
            self._thread.join()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def kill(self) -> None:
        """It does not go on: whatever a `finally` of it does on the way out, nothing far away hears of it."""
        self._is_killed = True
        while not self.is_over:
            try:
                self.go_on()
            except ChildKilled:
                return
