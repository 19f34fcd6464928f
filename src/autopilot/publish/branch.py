"""Whether the branch may be pushed, and the push: one exact commit, against one expected old value.

A refusal is final. A push is never forced, and a person's commit is never written over: the remote must hold
exactly what we pushed last, or began to push, or nothing when we never did. Must not create or change a pull
request.
Source: git-push(1), `--force-with-lease=<refname>:<expect>`; an empty <expect> means the ref must not exist.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from autopilot.config.git import GitError
from autopilot.publish import remote
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from autopilot.publish.askpass import Access
    from autopilot.publish.context import Context
    from autopilot.publish.forges.forge import Known
    from autopilot.publish.remote import Remote
    from autopilot.schemas.publication import PublishSpec, PullRequest


class Next(Enum):
    """What there is to do with the branch."""

    PUSH = "push"
    PUSHED_ALREADY = "pushed-already"
    MERGED_ALREADY = "merged-already"


def next_step(spec: PublishSpec, seen: Remote, known: Known | None) -> Next:
    """Decide from what is there.

    Args:
        spec: what we want, and what we pushed last.
        seen: the remote as it is.
        known: the pull request of this branch, if there is one.

    Raises:
        Stop: a person's work or decision is in the way.
    """
    if known is not None and known.pr.state == "merged" and known.head == spec.head:
        return Next.MERGED_ALREADY
    if known is not None:
        _check_pull_request(spec, known)
    if seen.branch == spec.head:
        return Next.PUSHED_ALREADY
    if seen.branch == spec.expected_remote_head or seen.branch in spec.attempted_heads:
        return Next.PUSH
    pr = known.pr if known else None
    if seen.branch is None:
        gone = f"the branch {spec.branch!r} that we pushed is gone from the remote"
        raise _conflict("branch-deleted", gone, pr)
    found = f"the branch {spec.branch!r} holds {seen.branch[:12]}, which is not what we pushed last"
    raise _conflict("branch-conflict", found, pr)


def _conflict(code: str, what: str, pr: PullRequest | None = None) -> Stop:
    return Stop(
        code,
        what,
        waiting_for="branch-conflict",
        hint="look at the branch; nothing was written over and nothing was made again",
        pr=pr,
    )


def _check_pull_request(spec: PublishSpec, known: Known) -> None:
    if known.pr.state == "merged":
        raise Stop(
            "already-merged",
            f"pull request {known.pr.number} of this branch was merged; the branch is not made again",
            waiting_for="branch-conflict",
            hint="add a new ticket for what is still missing",
            pr=known.pr,
        )
    if known.pr.state == "closed":
        raise Stop(
            "pull-request-closed",
            f"a person closed pull request {known.pr.number} of this branch",
            waiting_for="branch-conflict",
            hint="reopen it, or cancel the ticket",
            pr=known.pr,
        )
    if not known.pr.draft and known.head != spec.head:
        raise Stop(
            "pull-request-left-draft",
            f"pull request {known.pr.number} is no draft any more; it is not changed under its readers",
            waiting_for="branch-conflict",
            hint="turn it back into a draft, or add a new ticket",
            pr=known.pr,
        )


def push(ctx: Context, access: Access, *, over: str | None) -> None:
    """Push the commit, and believe only what the remote shows afterwards.

    Args:
        ctx: the publication.
        access: lends git the credential.
        over: what the branch holds, as it was judged; None = there is no such branch.

    Raises:
        TransientError: it did not arrive, and may be tried again.
        Stop: the remote refused it, or somebody was faster.
    """
    failure: GitError | None = None
    try:
        ctx.git.run(*push_arguments(ctx.spec, over=over), git_dir=ctx.staging, env=access.env)
    except GitError as exc:
        failure = exc
    seen = remote.look(ctx, access)
    if seen.branch == ctx.spec.head:
        return
    if seen.branch != over:
        what = f"the branch {ctx.spec.branch!r} changed on the remote while we pushed"
        raise _conflict("branch-conflict", what) from failure
    if failure is None:
        what = "git said it pushed, but the remote does not show it"
        raise TransientError("push-not-seen", what, hint="nothing to do: it is tried again")
    if failure.is_transient or failure.code == "git-auth":
        raise remote.translated(failure, access) from failure
    raise refusal(failure, access) from failure


def push_arguments(spec: PublishSpec, *, over: str | None) -> tuple[str, ...]:
    """Give the one form in which we ever push."""
    ref = f"refs/heads/{spec.branch}"
    return (
        "push",
        "--quiet",
        "--no-verify",
        "--no-signed",
        "--no-follow-tags",
        "--recurse-submodules=no",
        f"--force-with-lease={ref}:{over or ''}",
        "--",
        spec.forge.push_url,
        f"{spec.head}:{ref}",
    )


def refusal(failure: GitError, access: Access) -> Stop:
    """Sort a refusal by who can lift it. It is final: the same push is not tried again.

    Source: GitHub's texts GH006 (protected branch), GH013 (rules, push protection), `workflow` scope.
    """
    said = failure.stderr_tail
    told = f"the remote refused the push: {access.told(said)}"
    if "GH013" in said and "secret" in said.casefold():
        hint = "the commit must be made anew without the secret; withdraw the secret if it was real"
        return Stop("push-found-secret", told, waiting_for="verification-failed", hint=hint)
    if "workflow" in said and "scope" in said:
        hint = "give the token the scope `workflow`, or take the workflow change out"
        return Stop("token-scope", told, waiting_for="credential", hint=hint)
    is_protected = "GH006" in said or "protected branch" in said.casefold()
    code = "branch-protected" if is_protected else "push-refused"
    hint = "change the remote's rule or the branch; the commit is safe here"
    return Stop(code, told, waiting_for="configuration", hint=hint)
