"""Ticks that outlast a full disk: nothing can be moved or started meanwhile, and nothing is lost.

Must not go on where state is damaged or in the wrong place: only room comes back by itself.
Source: docs/decisions/0089.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon.inbox import LockTried, Spent, StopAsked
from autopilot.daemon.loop import FULL
from autopilot.schemas.errors import TransientError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.daemon.clockwork import Passed
    from autopilot.daemon.inbox import Message
    from autopilot.daemon.loop import Loop

_LOOK_S = 2.0


class Outlasting:
    """Calls the loop, and remembers whether its last tick found room."""

    def __init__(self, loop: Loop) -> None:
        """Take the loop."""
        self._loop = loop
        self._is_full = False
        self._is_behind = False
        self._set: list[Passed] = []
        self._unheard: dict[str, Spent | LockTried] = {}

    @property
    def patience_s(self) -> float:
        """Give the seconds until the next look; without end where nothing waits to be written down."""
        return _LOOK_S if self._is_full or self._is_behind or self._set or self._unheard else math.inf

    def heed(self, passed: Passed) -> None:
        """Take it into account, before the next tick, that the clock was set or that the machine slept."""
        if passed.set_ms or passed.slept_ms:
            self._set.append(passed)

    def __call__(self, messages: Iterable[Message]) -> int | None:
        """Do one tick; None, to be called again, where the disk is full or a step of the clock is not kept.

        Raises:
            AutopilotError: the store failed otherwise, or the daemon is on its way out: the next one goes on.
        """
        self._hear(messages)
        with self._loop.patience(), self._loop.complaints.troubles.tick():
            return self._turn()

    def _turn(self) -> int | None:
        try:
            if not self._has_followed():
                return None  # started by a clock that is not followed, a day's money is free
            next_ms = self._loop.tick(tuple(self._unheard.values()))
        except TransientError as error:
            if error.code != FULL or self._loop.is_draining:
                raise
            if not self._is_full:
                logger("daemon").error(Event.STATE_UNSAVED, error=error.what, hint=error.hint)
            self._is_full = True
            self._loop.complaints.troubles.note(error)
            return None
        if self._is_full:
            logger("daemon").info(Event.STATE_SAVED)
        self._is_full = False
        self._unheard = _to_keep(self._loop.unsaved)
        return next_ms

    def _hear(self, messages: Iterable[Message]) -> None:
        """Tell at once who asks us to end, and keep what is to be written; the tick answers the others."""
        told = tuple(messages)
        self._loop.hear(message for message in told if isinstance(message, StopAsked))
        self._unheard |= _to_keep(told)

    def _has_followed(self) -> bool:
        """Write down each step of the clock, or say that one has to wait.

        Raises:
            TransientError: it is not kept, and the daemon is on its way out.
        """
        self._is_behind = not self._loop.catch_up()
        while self._set and not self._is_behind:
            self._is_behind = not self._loop.follow_clock(self._set[0])
            if not self._is_behind:
                self._set.pop(0)
        if self._is_behind and self._loop.is_draining:
            what = "it cannot be written down that the clock was set"
            raise TransientError("clock-unkept", what, hint="the log of the daemon says why")
        return not self._is_behind


def _to_keep(messages: Iterable[Message]) -> dict[str, Spent | LockTried]:
    """Choose what is to be written down; of each only the latest counts."""
    return {
        message.run_id if isinstance(message, Spent) else "": message
        for message in messages
        if isinstance(message, Spent | LockTried)
    }
