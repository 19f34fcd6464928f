"""Turns a finding into the ledger's entry. The one place where a gate record is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.plain import plain
from autopilot.runner.gates.files import command_digest
from autopilot.schemas.gate import MANDATORY_GATES, GateRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autopilot.runner.gates.context import GateContext
    from autopilot.runner.gates.judge import Finding
    from autopilot.schemas.gate import Evidence, TestCounts

MAX_REASON_CHARS = 4000
MAX_TAIL_CHARS = 2000


def shown(log: bytes) -> str:
    """Give the end of what a program printed, fit for a person, an agent and a digest."""
    return plain(log[-8 * MAX_TAIL_CHARS :], max_chars=MAX_TAIL_CHARS)


def make_record(
    ctx: GateContext,
    gate: str,
    finding: Finding,
    *,
    started_ms: int,
    argv: Sequence[str] = (),
    evidence: tuple[Evidence, ...] = (),
    counts: TestCounts | None = None,
    log: bytes = b"",
) -> GateRecord:
    """Bind a finding to the commit under test; what was printed last joins the reason of a red one."""
    reason = plain(finding.reason, max_chars=MAX_REASON_CHARS)
    if finding.code and log:
        reason = f"{reason}\n{shown(log)}"
    return GateRecord(
        gate=gate,
        verdict=finding.verdict,
        code=finding.code,
        mandatory=gate in MANDATORY_GATES,
        head=ctx.head.sha,
        base=ctx.base.sha,
        started_ms=started_ms,
        duration_ms=max(0, ctx.clock.now_ms() - started_ms),
        command_sha256=command_digest(argv) if argv else None,
        evidence=evidence,
        counts=counts,
        reason=reason,
        producer=ctx.producer,
    )
