"""Where packages would come from: a lock file nobody reads must not name a place nobody has chosen.

Must not judge a package itself, nor ask a registry.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.publish import span
from autopilot.publish.body import shown_path
from autopilot.publish.checks.package_files import is_place_file, speaking
from autopilot.publish.context import Context, Findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autopilot.publish.span import Change

MAX_BLOB_BYTES = 5 * 1024 * 1024  # larger ones are refused already
_MAX_NAMED = 5
_HOST = re.compile(r"(?i)//(?:[^/\s\"'@]*@)?([^/\s\"':?#\\)\]>,;]+)|\bgit@([a-z0-9.-]+):")


def check(ctx: Context) -> Findings:
    """Look at each change of such a file, in every commit, for a host that it did not name before."""
    known = frozenset(ctx.spec.network.registry_hosts)
    changes = [
        change
        for commit in span.commits(ctx.git, ctx.staging)
        for change in span.changes_of(ctx.git, ctx.staging, commit)
        if change.is_file and is_place_file(change.path)
    ]
    blobs = tuple(dict.fromkeys(blob for each in changes for blob in (each.old_blob, each.new_blob) if blob))
    size_of = {
        blob: size for blob, size in span.sizes(ctx.git, ctx.staging, blobs).items() if size <= MAX_BLOB_BYTES
    }
    content = dict(span.contents(ctx.git, ctx.staging, size_of)) if size_of else {}
    reasons = [reason for change in changes for reason in _new_places(change, content, known)]
    return Findings(tuple(dict.fromkeys(reasons)))


def hosts_in(path: str, data: bytes) -> frozenset[str]:
    """Name the hosts that a file takes packages from; rather one too many."""
    found = ("".join(match) for match in _HOST.findall(speaking(path, data)))
    return frozenset(host.lower().rstrip(".") for host in found)


def _new_places(change: Change, content: dict[str, bytes], known: Iterable[str]) -> Iterator[str]:
    before = hosts_in(change.path, content.get(change.old_blob, b""))
    new = sorted(hosts_in(change.path, content.get(change.new_blob, b"")) - before - frozenset(known))
    if new:
        named = ", ".join(shown_path(host) for host in new[:_MAX_NAMED])
        more = f" and {len(new) - _MAX_NAMED} more" if len(new) > _MAX_NAMED else ""
        yield (
            f"packages would come from a new place, {named}{more}: {shown_path(change.path)} "
            "(registry_hosts of [network] lists the places that may)"
        )
