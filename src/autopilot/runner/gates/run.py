"""Runs the gates over one commit: what the pipeline calls in a run, and verify calls again before publishing.

Must not raise for anything the repository does, and must not let a gate be green by default. Source of what
a full disk means: docs/decisions/0182.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.removal import remove_tree
from autopilot.runner.gates import evidence, test_summary
from autopilot.runner.gates.judge import Finding
from autopilot.runner.gates.record import make_record
from autopilot.runner.gates.registry import GATES
from autopilot.runner.gates.restore import restore
from autopilot.runner.gates.room import Room
from autopilot.schemas.events import Event
from autopilot.schemas.gate import MANDATORY_GATES, Verdict
from autopilot.schemas.run import Baseline

if TYPE_CHECKING:
    from autopilot.runner.gates.context import GateContext
    from autopilot.schemas.gate import GateRecord


def run_gates(ctx: GateContext) -> tuple[GateRecord, ...]:
    """Restore, then run every gate in order; a red one does not hide the next.

    Returns:
        One ledger entry per gate, bound to `ctx.head`.

    Raises:
        TransientError: `disk-full`: whatever is red had no room to write in, so nothing is known.
        SandboxError: the sandbox did not come up.
    """
    _empty(ctx)
    room = Room(ctx)
    with room.named():
        records = _round(replace(ctx, should_stop=room.look), room)
    room.require()
    return records


def _round(ctx: GateContext, room: Room) -> tuple[GateRecord, ...]:
    broken = restore(ctx)
    records: tuple[GateRecord, ...] = ()
    for name, check in GATES:
        if broken is None and name != evidence.NAME:  # which judges what the others wrote
            room.begin()
        record = _unset(ctx, name, broken) if broken else check(ctx, records)
        records = (*records, record)
        if not record.is_green:
            room.judge(f"the gate {record.gate}", record.code, record.reason)
        _tell(ctx, record)
    return records


def measure_baseline(ctx: GateContext) -> Baseline:
    """Run the base commit's own tests, before the agent: what was red already.

    Nothing is refused here; a base whose tests are red or cannot run is a fact for the digest.

    Raises:
        TransientError: `disk-full`: they had no room to write in, so nothing is known of them.
        SandboxError: the sandbox did not come up.
    """
    _empty(ctx)
    room = Room(ctx)
    with room.named():
        baseline = _baseline(replace(ctx, should_stop=room.look), room)
    if not baseline.green:
        room.judge("the base", baseline.code, baseline.reason)
    room.require()
    return baseline


def _baseline(ctx: GateContext, room: Room) -> Baseline:
    broken = restore(ctx)
    if broken is not None:
        return Baseline(counts=None, green=False, reason=broken.reason, code=broken.code)
    room.begin()
    record = test_summary.check(ctx, ())
    return Baseline(counts=record.counts, green=record.is_green, reason=record.reason, code=record.code)


def feedback(records: tuple[GateRecord, ...]) -> str:
    """Say what is red, for the agent's next round, without anything green; the prompt bounds it."""
    parts = [
        f"Gate {record.gate}: {record.verdict.value}"
        + (f" ({record.code})" if record.code else "")
        + f"\n{record.reason}"
        for record in records
        if record.gate in MANDATORY_GATES and not record.is_green
    ]
    return "\n\n".join(parts)


def _empty(ctx: GateContext) -> None:
    """Make the round's folder and HOME anew: what an earlier round's tests left there counts for nothing."""
    for folder in (ctx.reports, Path(ctx.env["HOME"])):
        remove_tree(folder)
        folder.mkdir(mode=0o700, parents=True)


def _unset(ctx: GateContext, name: str, broken: Finding) -> GateRecord:
    finding = Finding(Verdict.ERROR, broken.code, broken.reason)
    return make_record(ctx, name, finding, started_ms=ctx.clock.now_ms())


def _tell(ctx: GateContext, record: GateRecord) -> None:
    event = Event.GATE_PASSED if record.is_green else Event.GATE_FAILED
    ctx.on_event(
        event,
        {
            "gate": record.gate,
            "verdict": record.verdict.value,
            "code": record.code,
            "duration_ms": record.duration_ms,
            "executed": record.counts.executed if record.counts else None,
        },
    )
