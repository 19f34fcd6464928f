"""One publication from its first check to its verdict.

Every check is run and every reason listed; the first failure does not hide the rest. Only when all have
passed does `open_draft` read the credential. Must not be told anything by the request.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autopilot.config.shortage import full, refuse_full
from autopilot.publish import verdicts
from autopilot.publish.checks.registry import CHECKS, Check
from autopilot.publish.context import Context, Findings
from autopilot.publish.open_draft import open_draft
from autopilot.publish.verdicts import Story
from autopilot.schemas.errors import AutopilotError, InvariantError
from autopilot.schemas.events import Event
from autopilot.schemas.publication import CheckLine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.schemas.publication import PublishVerdict


def publish(ctx: Context) -> PublishVerdict:
    """Check, then push and open the draft.

    Returns:
        The verdict; any error on purpose is part of it.
    """
    ctx.progress.note(Event.PUBLISH_STARTED, head=ctx.spec.head, branch=ctx.spec.branch)
    found = _run_checks(ctx)
    story = Story(
        spec=ctx.spec,
        now_ms=ctx.clock.now_ms(),
        checks=tuple(_line(name, findings) for name, findings in found.items()),
        gates=found["reverify"].gates,
        sandbox=found["reverify"].sandbox,
    )
    if not all(findings.passed for findings in found.values()):
        return verdicts.refused(story)
    return finish(ctx, story)


def finish(ctx: Context, story: Story) -> PublishVerdict:
    """Deliver what has passed every check, and give the verdict."""
    try:
        delivered = open_draft(ctx, story.gates, sandbox=story.sandbox)
    except AutopilotError as exc:
        return verdicts.ended(_ended(ctx, story, exc), exc)
    story = replace(story, pushed=delivered.pushed, base_behind=delivered.behind)
    if delivered.error is not None:
        return verdicts.ended(_ended(ctx, story, delivered.error), delivered.error)
    story = _ended(ctx, story, None)
    if delivered.pr is None:
        raise InvariantError("delivery-unknown", "a delivery without an error has no pull request")
    return verdicts.opened(story, delivered.pr, code=delivered.code)


def _ended(ctx: Context, story: Story, error: AutopilotError | None) -> Story:
    line = CheckLine(check="delivery", passed=error is None, reasons=(error.what,) if error else ())
    return replace(story, now_ms=ctx.clock.now_ms(), checks=(*story.checks, line))


def _run_checks(ctx: Context) -> Mapping[str, Findings]:
    found: dict[str, Findings] = {}
    for check in CHECKS:
        findings = found[check.name] = _run(ctx, check, found)
        ctx.progress.note(Event.PUBLISH_CHECKED, check=check.name, passed=findings.passed)
    return found


def _run(ctx: Context, check: Check, found: Mapping[str, Findings]) -> Findings:
    missing = sorted(name for name in check.needs if not found[name].passed)
    if missing:
        return Findings((f"not run: it needs {', '.join(missing)}",))
    try:
        return check.run(ctx)
    except AutopilotError as exc:
        refuse_full(exc, ctx.folder)
        return Findings((f"could not be checked: {exc.what}",))
    except BaseException as exc:
        told = full(exc, ctx.folder) if isinstance(exc, OSError) else None
        if told is not None:
            raise told from exc
        exc.add_note(f"{verdicts.WHERE}{check.name}")  # nothing passes; the edge says which check it was
        raise


def _line(name: str, findings: Findings) -> CheckLine:
    return CheckLine(check=name, passed=findings.passed, reasons=(*findings.reasons, *findings.notes))
