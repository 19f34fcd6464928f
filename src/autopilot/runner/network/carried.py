"""Counts the calls that the key broker has carried to the model's service, so that they can be compared.

Must not keep what was said: methods, paths and how it ended are all.
"""

from __future__ import annotations

import threading

MAX_KINDS = 20
OTHER = "other"
_BAD_REQUEST = 400


class Carried:
    """A counter for each kind of call, and for what became of them."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._kinds: dict[str, int] = {}
        self._failed = self._unanswered = 0

    def add(self, kind: str, status: int | None) -> None:
        """Count one that has gone out.

        Args:
            kind: method and path.
            status: of the answer; None: there was none.
        """
        with self._lock:
            known = kind if kind in self._kinds or len(self._kinds) < MAX_KINDS else OTHER
            self._kinds[known] = self._kinds.get(known, 0) + 1
            self._unanswered += status is None
            self._failed += status is not None and status >= _BAD_REQUEST

    def facts(self) -> dict[str, object]:
        """Give the counts as facts of an event."""
        with self._lock:
            return {
                "calls": dict(sorted(self._kinds.items())),
                "calls_failed": self._failed,
                "calls_unanswered": self._unanswered,
            }
