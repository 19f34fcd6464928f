"""Counts what a run was not let do, and keeps only so many kinds of it.

Must not judge an attempt: whoever stood in its way has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.schemas.blocked import MAX_WHAT_CHARS, Blocked

if TYPE_CHECKING:
    from autopilot.schemas.blocked import By

MAX_KINDS = 100
_MARK_CHARS = 2  # what a cut adds


class Barrier:
    """The counts of one run."""

    def __init__(self) -> None:
        """Start with none."""
        self._counts: dict[tuple[By, str, str], int] = {}
        self._rest: dict[By, int] = {}

    def add(self, *, by: By, what: str, code: str = "", count: int = 1) -> None:
        """Count attempts of one kind; with an empty `what`, of kinds that nobody has kept."""
        key = (by, one_line(what, max_chars=MAX_WHAT_CHARS - _MARK_CHARS), code)
        if key[1] and (key in self._counts or len(self._counts) < MAX_KINDS):
            self._counts[key] = self._counts.get(key, 0) + count
        else:
            self._rest[by] = self._rest.get(by, 0) + count

    def refused(self, what: str, code: str, count: int) -> None:
        """Count what the outlet refused."""
        self.add(by="network", what=what, code=code, count=count)

    def told(self) -> tuple[Blocked, ...]:
        """Give every kind, in the order in which they came, and the sums of what was not kept."""
        kept = [
            Blocked(by=by, what=what, code=code, count=count)
            for (by, what, code), count in self._counts.items()
        ]
        return (
            *kept,
            *(Blocked(by=by, what="", code="more", count=count) for by, count in self._rest.items()),
        )
