"""The recorded gates: every mandatory one must be green for exactly this commit and base.

Reads the daemon's record, not the request's copy of it.
"""

from __future__ import annotations

from autopilot.publish.context import Context, Findings
from autopilot.schemas.gate import MANDATORY_GATES, GateRecord, ungreen


def check(ctx: Context) -> Findings:
    """Look each mandatory gate up in the record."""
    spec = ctx.spec
    ours = tuple(record for record in spec.recorded_gates if record.base == spec.base_sha)
    missing = ungreen(ours, head=spec.head)
    reasons = tuple(why(gate, ours, spec.head) for gate in missing)
    return Findings(reasons, (f"{len(MANDATORY_GATES)} mandatory gates",))


def why(gate: str, records: tuple[GateRecord, ...], head: str) -> str:
    """Say why a gate does not count as green."""
    latest = {record.gate: record for record in records if record.head == head}.get(gate)
    if latest is None:
        return f"the gate {gate} has no verdict for {head[:12]}"
    return f"the gate {gate} is {latest.verdict}: {latest.reason or 'no reason given'}"
