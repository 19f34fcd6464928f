"""Secrets, over every commit of the range: each new file, each path and each message.

What the base already holds is not found again. Must not print a secret: rule, place and four hex digits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autopilot.config.detector import Hit, find
from autopilot.publish import span
from autopilot.publish.body import shown_path
from autopilot.publish.checks.content import MAX_BLOB_BYTES
from autopilot.publish.context import Context, Findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def check(ctx: Context) -> Findings:
    """Scan the range and the branch's name."""
    commits = span.commits(ctx.git, ctx.staging)
    if not commits:
        return Findings(("no commit to scan: the range is empty",))
    reasons = [_line(hit, "the branch name") for hit in find(ctx.spec.branch.encode())]
    scanned = 0
    for commit in commits:
        changes = span.changes_of(ctx.git, ctx.staging, commit)
        scanned += sum(change.is_file for change in changes)
        reasons += [_line(hit, f"the message of {commit.sha[:12]}") for hit in find(_header(commit))]
        reasons += _in_paths(changes, commit.sha[:12])
        reasons += _in_files(ctx, changes, commit.sha[:12])
    return Findings(tuple(dict.fromkeys(reasons)), (f"{scanned} files in {len(commits)} commits scanned",))


def _header(commit: span.Commit) -> bytes:
    return b"\n".join((commit.author, commit.committer, commit.message))


def _in_paths(changes: Iterable[span.Change], short: str) -> Iterator[str]:
    for change in changes:
        for hit in find(os.fsencode(change.path)):
            yield _line(hit, f"a file name in {short}")


def _in_files(ctx: Context, changes: tuple[span.Change, ...], short: str) -> Iterator[str]:
    """Scan new blobs, without what the old blobs of the same commit already hold."""
    old = tuple({change.old_blob for change in changes if change.old_blob})
    new = tuple({change.new_blob for change in changes if change.is_file})
    known = {(hit.rule, hit.digest) for _, data in _read(ctx, old) for hit in find(data)}
    hits = {blob: find(data) for blob, data in _read(ctx, new)}
    for change in changes:
        if change.is_file and change.new_blob not in hits:
            yield f"not scanned, too large or unreadable: {shown_path(change.path)} in {short}"
        for hit in hits.get(change.new_blob, ()) if change.is_file else ():
            if (hit.rule, hit.digest) not in known:
                yield _line(hit, f"{shown_path(change.path)}:{hit.line} in {short}")


def _read(ctx: Context, blobs: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    size_of = span.sizes(ctx.git, ctx.staging, blobs)
    within = {blob: size for blob, size in size_of.items() if size <= MAX_BLOB_BYTES}
    return span.contents(ctx.git, ctx.staging, within)


def _line(hit: Hit, place: str) -> str:
    return f"{hit.rule} ({hit.mark}) in {place}"
