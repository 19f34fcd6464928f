"""Gathers what the pull request's text is made of: what git shows, what the gates said, what the run claims.

Must not talk to a forge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.publish import span
from autopilot.publish.body import BaseMoved, Facts, title_of
from autopilot.publish.checks import content
from autopilot.publish.detector import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.publish.context import Context
    from autopilot.schemas.gate import GateRecord

_NOT_MOVED = BaseMoved(behind=0)
UNCONFINED = "**Sandbox: none.** The agent and the tests ran without one, as configured."


def gather(ctx: Context, rerun: tuple[GateRecord, ...], *, moved: BaseMoved = _NOT_MOVED) -> Facts:
    """Put the facts together. The list of changes is git's; the run only adds its reasons.

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
        signals=(
            *((UNCONFINED,) if spec.sandbox.kind == "none" else ()),
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


def secrets_in(texts: dict[str, str]) -> Iterator[str]:
    """Name each secret in outward text by its rule and the place it is in."""
    for place, text in texts.items():
        for hit in find(text.encode("utf-8", "surrogatepass")):
            yield f"{hit.rule} ({hit.mark}) in {place}"
