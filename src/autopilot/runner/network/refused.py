"""Collects what was refused, so that somebody can be told of it; never more than a little.

Must not lose the count of what it does not keep.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from autopilot.schemas.hosts import MAX_HOST_CHARS

MAX_KINDS = 100


@dataclass(frozen=True, slots=True)
class Refused:
    """One kind of attempt that did not get through. `host` is what the client wrote, shown and cut.

    `path` is told of calls to the model's service alone.
    """

    host: str
    port: int
    method: str
    code: str
    path: str = ""


class Refusals:
    """A counter for each kind, and one for all that came after there were enough kinds."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._counts: dict[Refused, int] = {}
        self._fresh: list[Refused] = []
        self._rest = 0

    def add(self, refused: Refused) -> None:
        """Count one."""
        with self._lock:
            if refused in self._counts:
                self._counts[refused] += 1
            elif len(self._counts) < MAX_KINDS:
                self._counts[refused] = 1
                self._fresh.append(refused)
            else:
                self._rest += 1

    def news(self) -> tuple[Refused, ...]:
        """Give the kinds that are new since the last time this was asked."""
        with self._lock:
            fresh, self._fresh = tuple(self._fresh), []
        return fresh

    def counts(self) -> dict[Refused, int]:
        """Give every kind that was kept, with how often it came."""
        with self._lock:
            return dict(self._counts)

    @property
    def rest(self) -> int:
        """How many attempts came of kinds that were not kept."""
        with self._lock:
            return self._rest


def shown(text: str) -> str:
    """Show what a client wrote as one short line of plain characters."""
    plain = "".join(char if " " < char <= "~" else ascii(char)[1:-1] for char in text[:MAX_HOST_CHARS])
    return plain[:MAX_HOST_CHARS]
