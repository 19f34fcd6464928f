"""The gate `build`: what the branch holds can be built.

Must not pass by exit code where the adapter has a report of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.gates.files import UnreadableError, evidence, log_end, read_plain
from autopilot.runner.gates.judge import Finding, judge_build
from autopilot.runner.gates.record import make_record
from autopilot.runner.stacks.stack import CannotRun, NotNeeded
from autopilot.schemas.gate import Verdict

if TYPE_CHECKING:
    from autopilot.runner.gates.context import GateContext
    from autopilot.runner.stacks.stack import BuildCommand
    from autopilot.schemas.gate import GateRecord

NAME = "build"


def check(ctx: GateContext, _before: tuple[GateRecord, ...]) -> GateRecord:
    """Build, or say why there is nothing to build."""
    started_ms = ctx.clock.now_ms()
    place = ctx.place(NAME)
    plan = ctx.stack.build(place)
    if isinstance(plan, NotNeeded):
        return make_record(ctx, NAME, Finding(Verdict.NOT_APPLICABLE, "", plan.reason), started_ms=started_ms)
    if isinstance(plan, CannotRun):
        finding = Finding(Verdict.ERROR, plan.code, plan.reason)
        return make_record(ctx, NAME, finding, started_ms=started_ms)
    exit_ = ctx.run(plan.command, place.out, name="output")
    kept = [path for path in (plan.report, exit_.output) if path is not None]
    return make_record(
        ctx,
        NAME,
        judge_build(exit_, _faults(plan)),
        started_ms=started_ms,
        argv=plan.command.argv,
        evidence=evidence(ctx.root, kept),
        log=log_end(exit_.output),
    )


def _faults(plan: BuildCommand) -> tuple[str, ...] | str:
    if plan.report is None or plan.faults is None:
        return ()
    try:
        return tuple(plan.faults(read_plain(plan.report)))
    except UnreadableError as exc:
        return str(exc)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as exc:
        return f"it is not the report of our own check: {exc}"
