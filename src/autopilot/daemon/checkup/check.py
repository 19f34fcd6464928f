"""One line of the check-up as a value. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Finding(StrEnum):
    """How a line stands."""

    OK = "ok"
    WARNING = "warning"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Check:
    """One line: what was looked at, what was seen, and what mends it."""

    name: str
    finding: Finding
    evidence: str
    cure: str = ""

    @property
    def blocks(self) -> bool:
        """Tell whether the night must not begin."""
        return self.finding is Finding.BLOCKED


def ok(name: str, evidence: str) -> Check:
    """Build the line of something that is in order."""
    return Check(name, Finding.OK, evidence)


def warning(name: str, evidence: str, cure: str) -> Check:
    """Build the line of something to know, with which the night can begin."""
    return Check(name, Finding.WARNING, evidence, cure)


def blocked(name: str, evidence: str, cure: str) -> Check:
    """Build the line of something that must be mended first."""
    return Check(name, Finding.BLOCKED, evidence, cure)
