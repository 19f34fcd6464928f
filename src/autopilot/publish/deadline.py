"""Waits for an answer no longer than it may take, in whatever pieces it comes.

httpx bounds each single wait: a byte now and then, and an answer never ends. So a thread of its own asks, and
whoever waits goes on without it. Must not let a request begin for which nobody waits any more.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from autopilot.config import threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Answer = TypeVar("Answer")


class LateError(Exception):
    """There was no answer in time."""

    def __init__(self, *, has_begun: bool) -> None:
        """Take whether any of the request may have left this machine; it never does where it had not."""
        super().__init__("there was no answer in time")
        self.has_begun = has_begun


class Turn:
    """One request: given up before it has begun, it does not begin."""

    def __init__(self) -> None:
        """Begin with one that has not begun."""
        self._lock = threading.Lock()
        self._has_begun = self._is_given_up = False

    def trace(self, step: str, facts: Mapping[str, Any]) -> None:
        """Be told of each step; a proxy that is asked for the way has not been told the request.

        Raises:
            ConnectTimeout: it was given up.

        Source: https://www.encode.io/httpcore/extensions/#trace
        """
        if not step.endswith("send_request_headers.started") or facts["request"].method == b"CONNECT":
            return
        with self._lock:
            if self._is_given_up:
                raise httpx.ConnectTimeout("nobody waits for it any more")
            self._has_begun = True

    def give_up(self) -> bool:
        """Say whether it had begun; if not, it never will."""
        with self._lock:
            self._is_given_up = True
            return self._has_begun


def within(limit_s: float, ask: Callable[[Turn], Answer]) -> Answer:
    """Have it asked, and give the answer.

    Args:
        limit_s: seconds that all of it may take, from the name of the server to the last byte.
        ask: sends one request that is traced by its turn; gives errors as values.

    Raises:
        LateError: there was none in time.
        TransientError: `thread-unstarted`: nothing was asked.
        RuntimeError: it broke in a way that nobody thought of; the thread has printed how.
    """
    turn, answers = Turn(), queue.SimpleQueue[Answer | None]()
    threads.start(threading.Thread(target=_asked, args=(ask, turn, answers), daemon=True))
    try:
        answer = answers.get(timeout=limit_s)
    except queue.Empty:
        raise LateError(has_begun=turn.give_up()) from None
    if answer is None:
        raise RuntimeError("the request broke")
    return answer


def _asked(ask: Callable[[Turn], Answer], turn: Turn, answers: queue.SimpleQueue[Answer | None]) -> None:
    answer = None
    try:
        answer = ask(turn)
    finally:
        answers.put(answer)
