"""From checked commit to draft pull request. Every check has passed; only here the credential is read.

The order makes a crash harmless: look, push against an expected old value, look for a pull request, open one.
Must not repeat a refused push, and must not change what a person has changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.publish import branch, credential, marks, remote
from autopilot.publish.body import minimal, write
from autopilot.publish.branch import Next
from autopilot.publish.checks.outbound import faults_of
from autopilot.publish.facts import gather
from autopilot.publish.forges import registry
from autopilot.publish.forges.forge import Wanted
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TransientError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from autopilot.publish.body import Facts
    from autopilot.publish.context import Context
    from autopilot.publish.forges.forge import Forge, Known
    from autopilot.schemas.cell import OpenedKind
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.publication import PullRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """How far it got. `error` is set when the commit is on the remote but no pull request is known."""

    pushed: str
    behind: int
    pr: PullRequest | None = None
    code: str = "opened"
    error: TransientError | Stop | None = None


def open_draft(
    ctx: Context, rerun: tuple[GateRecord, ...], *, sandbox: OpenedKind | None = None
) -> Delivered:
    """Push and open.

    Args:
        ctx: a publication whose checks have all passed.
        rerun: the second verdicts, for the text.
        sandbox: what they were reached in, for the text.

    Raises:
        TransientError: nothing was pushed; later.
        Stop, CredentialError: nothing was pushed; a person must act.
    """
    with (
        credential.access(ctx.spec.forge.credential, ctx.folder, then="resume the ticket") as access,
        registry.opened(ctx, access) as forge,
    ):
        seen = remote.look(ctx, access)
        _refuse_protected(ctx, forge, seen.default)
        moved = remote.base_moved(ctx, seen, access)
        known = forge.find(ctx.spec.branch)
        step = branch.next_step(ctx.spec, seen, known)
        facts = gather(ctx, rerun, sandbox=sandbox, moved=moved)
        _refuse_text(ctx, facts)
        if known is not None and step is Next.MERGED_ALREADY:
            return Delivered(pushed=ctx.spec.head, behind=moved.behind, pr=known.pr, code="already-merged")
        if step is Next.PUSH:
            branch.push(ctx, access, over=seen.branch)
        ctx.progress.note(Event.PUBLISH_PUSHED, head=ctx.spec.head, step=step.value)
        try:
            pr, code = _open(ctx, forge, known, facts)
        except (TransientError, Stop) as exc:
            return Delivered(pushed=ctx.spec.head, behind=moved.behind, error=exc)
    ctx.progress.note(Event.PUBLISH_PR_OPENED, number=pr.number, url=pr.url, code=code)
    return Delivered(pushed=ctx.spec.head, behind=moved.behind, pr=pr, code=code)


def _refuse_protected(ctx: Context, forge: Forge, default: str | None) -> None:
    name = ctx.spec.branch
    why = "it is the remote's default branch" if name == default else forge.protection(name)
    if why:
        raise Stop(
            "branch-protected",
            f"the branch {name!r} may not be pushed: {why}",
            waiting_for="configuration",
            hint="change the forge's rule or the branch prefix",
        )


def _refuse_text(ctx: Context, facts: Facts) -> None:
    """Look once more at what is about to be sent: the base's distance was not known to the check."""
    found = tuple(faults_of(facts.title, write(facts), roots=ctx.roots))
    if found:
        hint = "the commits, their messages or the ticket hold it; `autopilot show` has the whole"
        raise Stop("check-outbound", "; ".join(found), waiting_for="verification-failed", hint=hint)


def _open(ctx: Context, forge: Forge, known: Known | None, facts: Facts) -> tuple[PullRequest, str]:
    """Give the pull request of this branch: the one that is there, or a new draft."""
    body = write(facts)
    if known is not None:
        if not _is_ours(ctx, known):
            return known.pr, "linked"
        if marks.is_untouched(known.body):
            forge.update(known, body=body, head=ctx.spec.head)
            return known.pr, "updated"
        return known.pr, "kept-edited-text"
    spec = ctx.spec
    wanted = Wanted(spec.branch, spec.base, spec.head, facts.title, body)
    try:
        pr = forge.create(wanted)
    except Stop as stop:
        if stop.code != "body-too-long":
            raise
        pr = forge.create(Wanted(spec.branch, spec.base, spec.head, facts.title, minimal(facts)))
    return pr, "opened" if pr.draft else "opened-not-draft"


def _is_ours(ctx: Context, known: Known) -> bool:
    """Tell our pull request from one that a person opened from our branch."""
    mine, author = ctx.spec.identity.username, known.author
    return marks.without(known.body) != known.body and not (mine and author and mine != author)
