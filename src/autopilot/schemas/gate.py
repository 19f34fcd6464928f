"""One check with a verdict, and the ledger entry that binds it to a commit."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from autopilot.schemas.records import EpochMs, Record, Sha, Sha256

# The gates this program can run now; a name joins when its gate exists.
MANDATORY_GATES = ("build", "test-summary", "evidence")


class Verdict(StrEnum):
    """What a gate found. A gate that cannot run is `error`, never `passed`."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not-applicable"
    SKIPPED = "skipped"
    ERROR = "error"


class Evidence(Record):
    """A file that backs a verdict, by its path inside the run folder and its digest."""

    path: str
    sha256: Sha256


class TestCounts(Record):
    """Executed leaf tests as the machine-readable reporter gave them. Skipped ones were not executed."""

    __test__ = False  # not a test class, whatever a collector thinks of its name

    executed: int = Field(ge=0)
    passed: int = Field(ge=0)
    failed: int = Field(ge=0)
    errored: int = Field(ge=0)
    skipped: int = Field(ge=0)
    failing_ids: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _counts_add_up(self) -> Self:
        if self.executed != self.passed + self.failed + self.errored:
            msg = f"executed is {self.executed}, but passed, failed and errored add up to something else"
            raise ValueError(msg)
        return self


class GateRecord(Record):
    """A ledger entry: append-only, bound to `head`."""

    gate: str
    verdict: Verdict
    code: str = Field(default="", description="why it is not green, in one kebab-case word; empty when it is")
    mandatory: bool
    head: Sha
    base: Sha
    started_ms: EpochMs
    duration_ms: int = Field(ge=0)
    command_sha256: Sha256 | None = None
    evidence: tuple[Evidence, ...] = ()
    counts: TestCounts | None = None
    reason: str = ""
    producer: Literal["run", "publish"] = "run"

    @property
    def is_green(self) -> bool:
        """Tell whether a commit may go on past this gate; `not-applicable` needs its reason."""
        return self.verdict is Verdict.PASSED or (
            self.verdict is Verdict.NOT_APPLICABLE and bool(self.reason.strip())
        )


def ungreen(records: tuple[GateRecord, ...], *, head: str) -> tuple[str, ...]:
    """Name each mandatory gate that has no green verdict for exactly `head`.

    A later entry replaces an earlier one; a verdict for another commit does not count.
    """
    latest = {record.gate: record for record in records if record.head == head}
    return tuple(gate for gate in MANDATORY_GATES if gate not in latest or not latest[gate].is_green)
