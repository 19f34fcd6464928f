"""What the loop is told, and by whom: one queue, read by the one thread that judges.

Must stay safe to fill from a signal handler: `queue.SimpleQueue.put` is reentrant, a threading.Event is not.
Source: docs.python.org/3/library/queue.html, "SimpleQueue Objects".
"""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Woken:
    """Look at everything again: an operator did something, or a schedule fell due."""

    by: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A child of ours and all it started is gone."""

    key: str


@dataclass(frozen=True, slots=True)
class Spent:
    """A run has spent so much by now (cumulative)."""

    run_id: str
    fence: int
    cost_micro_usd: int


@dataclass(frozen=True, slots=True)
class LockTried:
    """A sleep lock was asked for beside a child: of which kind it is, or why there is none."""

    kind: str
    warning: str
    detail: str


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Somebody wants the daemon gone; the second time at once."""

    by: str


Message = Woken | Ended | Spent | LockTried | StopAsked


class Inbox:
    """The loop's queue of messages."""

    def __init__(self) -> None:
        """Start empty."""
        self._queue: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.is_stop_asked = False
        """For what must not wait until the loop takes the message."""

    def put(self, message: Message) -> None:
        """Leave a message; from any thread, and from a signal handler."""
        self._queue.put(message)
        self.is_stop_asked = self.is_stop_asked or isinstance(message, StopAsked)

    def take(self, wait_s: float) -> tuple[Message, ...]:
        """Wait for the first message, at most `wait_s` seconds, and give all there are."""
        try:
            first = self._queue.get(timeout=max(0.0, wait_s)) if wait_s > 0 else self._queue.get_nowait()
        except queue.Empty:
            return ()
        return (first, *self._rest())

    def _rest(self) -> Iterator[Message]:
        while True:
            try:
                yield self._queue.get_nowait()
            except queue.Empty:
                return
