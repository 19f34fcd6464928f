"""The gate `evidence`: every verdict before it is backed by files that are still what was judged.

Must not believe a record: digests are taken again, and a claim that tests passed is counted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.gates import build, test_summary
from autopilot.runner.gates.files import UnreadableError, digest_of, read_plain
from autopilot.runner.gates.judge import Finding
from autopilot.runner.gates.record import make_record
from autopilot.runner.stacks.junit import ReportError, merge, parse_junit
from autopilot.schemas.gate import GateRecord, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.runner.gates.context import GateContext

NAME = "evidence"


def check(ctx: GateContext, before: tuple[GateRecord, ...]) -> GateRecord:
    """Hold each earlier verdict of this round against its files."""
    started_ms = ctx.clock.now_ms()
    faults = list(_faults(ctx, before))
    if not faults:
        files = sum(len(record.evidence) for record in before)
        finding = Finding(Verdict.PASSED, "", f"{files} files back {len(before)} verdicts")
    else:
        finding = Finding(Verdict.FAILED, faults[0][0], "; ".join(text for _, text in faults))
    kept = tuple(item for record in before for item in record.evidence) if not faults else ()
    return make_record(ctx, NAME, finding, started_ms=started_ms, evidence=kept)


def _faults(ctx: GateContext, before: tuple[GateRecord, ...]) -> Iterator[tuple[str, str]]:
    present = {record.gate for record in before}
    yield from (
        ("missing-verdict", f"{gate} has no verdict")
        for gate in (build.NAME, test_summary.NAME)
        if gate not in present
    )
    for record in before:
        if record.head != ctx.head.sha:
            yield "other-commit", f"{record.gate} judged {record.head[:12]}, not {ctx.head.sha[:12]}"
        yield from _file_faults(ctx, record)
        if record.verdict is Verdict.PASSED:
            yield from _claim_faults(ctx, record)
        elif record.verdict is Verdict.NOT_APPLICABLE and not record.reason.strip():
            yield "no-reason", f"{record.gate} is not applicable without a reason"


def _file_faults(ctx: GateContext, record: GateRecord) -> Iterator[tuple[str, str]]:
    for item in record.evidence:
        try:
            is_same = digest_of(ctx.root / item.path) == item.sha256
        except UnreadableError as exc:
            yield "evidence-gone", f"{record.gate}: {item.path}: {exc}"
            continue
        if not is_same:
            yield "digest-mismatch", f"{record.gate}: {item.path} is not what was judged"


def _claim_faults(ctx: GateContext, record: GateRecord) -> Iterator[tuple[str, str]]:
    """A green verdict needs its command and at least one file; a green test run needs its counts."""
    if record.command_sha256 is None or not record.evidence:
        yield "no-evidence", f"{record.gate} passed without a command or a file"
        return
    if record.gate != test_summary.NAME:
        return
    reports = [ctx.root / item.path for item in record.evidence if item.path.endswith(".xml")]
    try:
        counted = merge(parse_junit(read_plain(path)) for path in reports)
    except (UnreadableError, ReportError) as exc:
        yield "claim-unproven", f"{record.gate}: {exc}"
        return
    claimed = record.counts
    if claimed is None or not claimed.executed or claimed.failed or claimed.errored:
        yield "claim-unproven", f"{record.gate} passed without a green count"
    elif counted.red or counted.executed < claimed.executed:
        yield "claim-unproven", f"{record.gate} claims {claimed.executed} executed; its files do not show it"
