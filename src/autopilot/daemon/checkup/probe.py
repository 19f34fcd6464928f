"""One question to the machine, as a value: what it is about, who asks it, and how long it may take. Pure."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from autopilot.schemas.checkup import HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from autopilot.config.clock import Clock
    from autopilot.schemas.checkup import Area, Check


class Purpose(StrEnum):
    """Why the machine is looked over."""

    DOCTOR = "doctor"
    ARMING = "arming"
    TICK = "tick"


class Takes(StrEnum):
    """What asking takes, at its dearest."""

    LOOK = "a look at this machine"
    QUEUE = "opens the queue"
    COPIES = "reads every copy of the queue"
    MIRRORS = "reads the repositories' mirrors"
    CHANGE = "may change the state folder's mode"
    NETWORK = "asks something outside of this machine"
    PROGRAM = "starts the agent's program"
    ACCOUNT = "asks the agent's account, which costs money"
    TESTS = "may run tests"
    TRIAL = "plays a ticket through"


DOCTOR_ALONE = frozenset({Purpose.DOCTOR})
BEFORE_A_NIGHT = frozenset({Purpose.DOCTOR, Purpose.ARMING})
ALWAYS = frozenset(Purpose)


@dataclass(frozen=True, slots=True)
class Limit:
    """How long a probe may still take. Whatever it starts asks `should_stop` and ends with it."""

    clock: Clock
    until_s: float
    _is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def left_s(self) -> float:
        """Give the seconds that are left; never below a tenth, which every wait can take."""
        return max(0.1, self.until_s - self.clock.monotonic_s())

    def should_stop(self) -> str | None:
        """Say why it is to end, or None."""
        return "it took too long" if self._is_over.is_set() else None

    def end(self) -> None:
        """Nobody waits for it any more."""
        self._is_over.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question. Its lines get its area and its scope."""

    name: str
    """Of the line that says that there was no answer."""
    takes: Takes
    area: Area
    look: Callable[[Limit], Iterable[Check]]
    within_s: float = 45.0
    asked_by: frozenset[Purpose] = BEFORE_A_NIGHT
    scope: str = HOST
    hold: str = ""
    """The name of the hold that a NO-GO makes on a tick."""
    is_vital: bool = True
    """Whether the night must not begin without an answer."""


def one(look: Callable[[], Check]) -> Callable[[Limit], Iterable[Check]]:
    """Make a probe's question of a function that gives a single line and needs no limit."""
    return lambda _: (look(),)
