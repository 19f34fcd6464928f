"""The commits: descendants of the recorded base, without merges, in the recorded name, with their reference.

Must not look at their content.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.publish import span
from autopilot.publish.context import BASE_REF, HEAD_REF, Context, Findings
from autopilot.schemas import outbound

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_COMMITS = 50
_PERSON = re.compile(rb"(?P<name>.*) <(?P<email>[^<>\n]*)> \d+ [+-]\d{4}")
# git strips these from both ends of a name and an address. Source: git, ident.c, `crud`.
_CRUD = bytes(range(33)) + b".,:;<>\"\\'"


def check(ctx: Context) -> Findings:
    """Look at where the commits come from and at what they say."""
    if not ctx.git.check("merge-base", "--is-ancestor", BASE_REF, HEAD_REF, git_dir=ctx.staging):
        return Findings((f"the commit does not descend from the recorded base {ctx.spec.base_sha[:12]}",))
    commits = span.commits(ctx.git, ctx.staging)
    if not commits:
        return Findings(("there is no commit on top of the base",))
    if len(commits) > MAX_COMMITS:
        return Findings((f"{len(commits)} commits on top of the base; at most {MAX_COMMITS}",))
    reasons = tuple(reason for commit in commits for reason in _faults(ctx, commit))
    return Findings(reasons, (f"{len(commits)} on top of {ctx.spec.base_sha[:12]}",))


def _faults(ctx: Context, commit: span.Commit) -> Iterator[str]:
    short = commit.sha[:12]
    if len(commit.parents) != 1:
        yield f"{short} has {len(commit.parents)} parents; merges are not published"
    wanted = (ctx.spec.identity.name.encode(), ctx.spec.identity.email.encode())
    for role, raw in (("author", commit.author), ("committer", commit.committer)):
        if _person(raw) != tuple(part.strip(_CRUD) for part in wanted):
            yield f"{short} does not carry the recorded identity as its {role}"
    message = commit.message.decode("utf-8", "replace")
    if not _has_reference(message, {ctx.spec.ticket_id, ctx.spec.ticket_ref}):
        yield f"{short} has no trailer 'Ref: {ctx.spec.ticket_ref}'"
    if re.search(r"(?im)^co-authored-by:", message):
        yield f"{short} names a co-author"
    for fault in outbound.faults(message, roots=ctx.roots):
        yield f"{short} says in its message: {fault}"


def _person(raw: bytes) -> tuple[bytes, bytes] | None:
    match = _PERSON.fullmatch(raw)
    return (match["name"].strip(_CRUD), match["email"].strip(_CRUD)) if match else None


def _has_reference(message: str, names: set[str]) -> bool:
    last_paragraph = message.rstrip().rpartition("\n\n")[2]
    return any(line.strip() in {f"Ref: {name}" for name in names} for line in last_paragraph.split("\n"))
