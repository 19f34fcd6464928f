"""The gate `test-summary`: the tests ran to their end, at least one, and none is red.

Must not take anybody's word: exit code, report file and printed summary have to agree (judge.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.gates.collect import clear, gather
from autopilot.runner.gates.files import evidence, log_end
from autopilot.runner.gates.judge import Finding, judge_tests
from autopilot.runner.gates.record import make_record
from autopilot.runner.stacks.stack import CannotRun
from autopilot.schemas.gate import Verdict

if TYPE_CHECKING:
    from autopilot.runner.gates.context import GateContext
    from autopilot.schemas.gate import GateRecord

NAME = "test-summary"


def check(ctx: GateContext, _before: tuple[GateRecord, ...]) -> GateRecord:
    """Run the tests and judge what they prove."""
    started_ms = ctx.clock.now_ms()
    place = ctx.place(NAME)
    plan = ctx.stack.test(place)
    if isinstance(plan, CannotRun):
        finding = Finding(Verdict.ERROR, plan.code, plan.reason)
        return make_record(ctx, NAME, finding, started_ms=started_ms)
    before = clear(plan, place)
    exit_ = ctx.run(plan.command, place.out, name="output")
    found = gather(plan, place, before)
    log = log_end(exit_.output)
    finding = judge_tests(
        exit_,
        found.report,
        plan.read_summary(log) if plan.read_summary else None,
        prints_summary=plan.read_summary is not None,
    )
    return make_record(
        ctx,
        NAME,
        finding,
        started_ms=started_ms,
        argv=plan.command.argv,
        evidence=evidence(ctx.root, (*found.files, exit_.output)),
        counts=None if isinstance(found.report, str) else found.report.counts(),
        log=log,
    )
