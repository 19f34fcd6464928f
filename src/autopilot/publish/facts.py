"""Gathers what the pull request's text is made of: what git shows, what the gates said, what the run claims.

Must not talk to a forge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.detector import find
from autopilot.publish import span
from autopilot.publish.body import BaseMoved, Facts, title_of
from autopilot.publish.checks import content
from autopilot.schemas.cell import weakness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.publish.context import Context
    from autopilot.schemas.cell import OpenedKind
    from autopilot.schemas.gate import GateRecord

_NOT_MOVED = BaseMoved(behind=0)


def gather(
    ctx: Context,
    rerun: tuple[GateRecord, ...],
    *,
    sandbox: OpenedKind | None = None,
    moved: BaseMoved = _NOT_MOVED,
) -> Facts:
    """Put the facts together. The list of changes is git's; the run only adds its reasons.

    Args:
        ctx: the publication.
        rerun: the second verdicts.
        sandbox: what the gates were run again in; what the run had, our own record says.
        moved: how far the base went on.

    Raises:
        GitError: the staging repository cannot be read.
    """
    spec, request = ctx.spec, ctx.request
    changes = span.changes(ctx.git, ctx.staging)
    return Facts(
        title=title_of(request.title if request else "", spec.ticket_ref, roots=ctx.roots),
        summary=request.summary if request else "",
        notes=request.notes if request else (),
        changes=changes,
        reasons={line.path: line.reason for line in request.scope_check} if request else {},
        recorded=spec.recorded_gates,
        rerun=rerun,
        sandbox=spec.run_sandbox,
        sandbox_again=sandbox,
        signals=(
            *_weaknesses(run=spec.run_sandbox, again=sandbox),
            *content.notes(change.path for change in changes),
        ),
        blocked=request.blocked if request else (),
        manifests=tuple(change.path for change in changes if content.is_manifest(change.path)),
        ticket_ref=spec.ticket_ref,
        base=spec.base,
        base_sha=spec.base_sha,
        head=spec.head,
        moved=moved,
        roots=ctx.roots,
        key=spec.idempotency_key,
    )


def _weaknesses(*, run: OpenedKind | None, again: OpenedKind | None) -> Iterator[str]:
    """Warn of what the change was made in, and of what it was judged in: each may be another."""
    for where, kind in (("In the run", run), ("When the gates ran again", again)):
        if told := weakness(kind):
            yield f"**Sandbox: {kind or 'not recorded'}.** {where}, {told}."


def secrets_in(texts: dict[str, str]) -> Iterator[str]:
    """Name each secret in outward text by its rule and the place it is in."""
    for place, text in texts.items():
        for hit in find(text.encode("utf-8", "surrogatepass")):
            yield f"{hit.rule} ({hit.mark}) in {place}"
