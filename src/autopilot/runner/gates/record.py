"""Turns a finding into the ledger's entry. The one place where a gate record is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.gates.files import command_digest
from autopilot.schemas.gate import MANDATORY_GATES, GateRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autopilot.runner.gates.context import GateContext
    from autopilot.runner.gates.judge import Finding
    from autopilot.schemas.gate import Evidence, TestCounts

_MAX_REASON_CHARS = 4000


def make_record(
    ctx: GateContext,
    gate: str,
    finding: Finding,
    *,
    started_ms: int,
    argv: Sequence[str] = (),
    evidence: tuple[Evidence, ...] = (),
    counts: TestCounts | None = None,
    tail: str = "",
) -> GateRecord:
    """Bind a finding to the commit under test; what was printed last joins the reason of a red one."""
    reason = f"{finding.reason}\n{tail}".strip() if finding.code and tail else finding.reason
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
        reason=reason[:_MAX_REASON_CHARS],
        producer=ctx.producer,
    )
