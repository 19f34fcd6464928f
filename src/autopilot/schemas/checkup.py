"""What a look over the machine says, line by line: `autopilot on`, `autopilot doctor` and each tick share it.

Pure data.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field

from autopilot.schemas.records import EpochMs, Record

if TYPE_CHECKING:
    from collections.abc import Iterable

HOST = "host"


class CheckVerdict(StrEnum):
    """How a line stands."""

    GO = "go"
    WARNING = "warning"
    NO_GO = "no-go"


class Area(StrEnum):
    """What a line is about, in the order in which lines are shown."""

    MACHINE = "machine"
    CONFIGURATION = "configuration"
    QUEUE = "queue"
    MONEY = "money"
    AGENTS = "agents"
    REPOSITORIES = "repositories"
    CREDENTIALS = "credentials"
    NIGHT = "night"
    SERVICE = "service"
    REHEARSAL = "rehearsal"


class Check(Record):
    """One line: what was looked at, what was seen, and what mends it."""

    name: str = Field(min_length=1, description="what was looked at; `autopilot on --force` takes it")
    area: Area = Area.MACHINE
    verdict: CheckVerdict
    evidence: str = Field(description="what was seen")
    cure: str = Field(default="", description="the command or the act that mends it; empty when nothing must")
    hold: str = Field(default="", description="the hold that it makes while the daemon is on; empty: none")
    scope: str = Field(
        default=HOST, description="whom it keeps from starting: host, agent:<name>, repo:<name>"
    )

    asked_in: Literal["", "terminal", "daemon"] = Field(
        default="", description="in whose session it was asked; empty: by whom nobody said"
    )

    @property
    def blocks(self) -> bool:
        """Tell whether the night must not begin."""
        return self.verdict is CheckVerdict.NO_GO


class Checkup(Record):
    """Every line of one look; what `autopilot doctor --json` prints."""

    checkup_version: Literal[1] = 1
    go: bool = Field(description="no line says NO-GO")
    checks: tuple[Check, ...]

    @classmethod
    def of(cls, lines: Iterable[Check]) -> Self:
        """Judge the lines of a look."""
        checks = tuple(lines)
        return cls(go=not any(line.blocks for line in checks), checks=checks)


class Arming(Record):
    """How the switch was turned on last, beside the switch itself."""

    arming_version: Literal[1] = 1
    armed_ms: EpochMs
    by: str = "operator"
    forced: tuple[Check, ...] = Field(default=(), description="NO-GO lines that a person overruled by name")
