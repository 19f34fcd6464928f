"""What the commits bring: sizes, symbolic links, submodules, large-file pointers; CI and manifests are noted.

Must not check anything out: trees are read as lists.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.publish import span
from autopilot.publish.body import shown_path
from autopilot.publish.context import Context, Findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from autopilot.publish.span import Change

MAX_BLOB_BYTES = 5 * 1024 * 1024
MAX_RANGE_BYTES = 128 * 1024 * 1024
MAX_PATHS = 20_000
_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1"
_LFS_POINTER_BYTES = 1024
_CI = re.compile(
    r"(?i)(?:^|/)(?:\.github/(?:workflows|actions)/.+|\.gitlab-ci\.ya?ml|\.gitlab/ci/.+|\.circleci/.+|jenkinsfile"
    r"|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|\.travis\.ya?ml|\.buildkite/.+|\.drone\.ya?ml)$"
)
_MANIFEST = re.compile(
    r"(?i)(?:^|/)(?:package(?:-lock)?\.json|yarn\.lock|pnpm-lock\.yaml|pyproject\.toml|setup\.(?:py|cfg)|uv\.lock"
    r"|poetry\.lock|pipfile(?:\.lock)?|requirements[\w.-]*\.txt|go\.(?:mod|sum)|cargo\.(?:toml|lock)|pom\.xml"
    r"|(?:build|settings)\.gradle(?:\.kts)?|gradle\.lockfile|gemfile(?:\.lock)?|composer\.(?:json|lock)"
    r"|package\.swift|podfile(?:\.lock)?|dockerfile)$"
)
_GIT_RULES = re.compile(r"(?i)(?:^|/)\.gitattributes$")


def check(ctx: Context) -> Findings:
    """Look at every path that any commit of the range changes."""
    commits = span.commits(ctx.git, ctx.staging)
    changes = tuple(
        dict.fromkeys(
            change for commit in commits for change in span.changes_of(ctx.git, ctx.staging, commit)
        )
    )
    if len(changes) > MAX_PATHS:
        return Findings((f"{len(changes):,} paths change; at most {MAX_PATHS:,}",))
    new = tuple(dict.fromkeys(change.new_blob for change in changes if change.is_file))
    size_of = span.sizes(ctx.git, ctx.staging, new)
    reasons = [*_path_faults(changes), *_size_faults(changes, size_of), *_link_faults(ctx, changes, size_of)]
    reasons += _pointer_faults(ctx, changes, size_of)
    return Findings(tuple(dict.fromkeys(reasons)), notes(change.path for change in changes))


def notes(paths: Iterable[str]) -> tuple[str, ...]:
    """Say which paths a reviewer must look at with more care."""
    seen = tuple(dict.fromkeys(paths))
    kinds = (
        ("a CI file changes", _CI),
        ("a manifest changes", _MANIFEST),
        ("git attributes change", _GIT_RULES),
    )
    return tuple(
        f"{what}: {shown_path(path)}" for what, pattern in kinds for path in seen if pattern.search(path)
    )


def is_manifest(path: str) -> bool:
    """Tell whether a path declares or locks dependencies."""
    return bool(_MANIFEST.search(path))


def _path_faults(changes: Iterable[Change]) -> Iterator[str]:
    for change in changes:
        if span.GITLINK in {change.old_mode, change.new_mode}:
            yield f"a submodule changes: {shown_path(change.path)}"
        if change.path.casefold().rpartition("/")[2] == ".gitmodules":
            yield f"submodule settings change: {shown_path(change.path)}"


def _size_faults(changes: Iterable[Change], size_of: Mapping[str, int]) -> Iterator[str]:
    for change in changes:
        if not change.is_file:
            continue
        size = size_of.get(change.new_blob)
        if size is None:
            yield f"cannot be read: {shown_path(change.path)}"
        elif size > MAX_BLOB_BYTES:
            yield f"larger than 5 MiB ({size:,} bytes): {shown_path(change.path)}"
    if sum(size_of.values()) > MAX_RANGE_BYTES:
        yield f"{sum(size_of.values()):,} bytes of new files; at most {MAX_RANGE_BYTES:,}"


def _link_faults(ctx: Context, changes: Iterable[Change], size_of: Mapping[str, int]) -> Iterator[str]:
    links = [change for change in changes if change.new_mode == span.SYMLINK and change.is_file]
    small = {link.new_blob: size_of.get(link.new_blob, 0) for link in links}
    targets = dict(span.contents(ctx.git, ctx.staging, small)) if links else {}
    for link in links:
        if fault := link_fault(link.path, targets[link.new_blob].decode("utf-8", "surrogateescape")):
            yield f"a symbolic link {fault}: {shown_path(link.path)}"


def link_fault(path: str, target: str) -> str | None:
    """Say why a symbolic link may lead out of the tree, or None.

    A `..` is allowed at the start only: after a name it would go up from wherever that name leads.
    """
    steps = [step for step in target.split("/") if step not in {"", "."}]
    ups = next((index for index, step in enumerate(steps) if step != ".."), len(steps))
    if target.startswith("/") or "\0" in target:
        return "leads to an absolute path"
    if ups > path.count("/") or ".." in steps[ups:]:
        return "leads out of the tree"
    if any(step.casefold() in {".git", "git~1"} for step in steps):
        return "leads into the repository's own folder"
    return None


def _pointer_faults(ctx: Context, changes: Iterable[Change], size_of: Mapping[str, int]) -> Iterator[str]:
    """Refuse new large-file pointers: nothing here uploads what they point at."""
    known = {change.old_blob for change in changes}
    small = {
        change.new_blob: size_of[change.new_blob]
        for change in changes
        if change.is_file
        and change.new_blob not in known
        and size_of.get(change.new_blob, MAX_BLOB_BYTES) < _LFS_POINTER_BYTES
    }
    pointers = {
        blob for blob, data in span.contents(ctx.git, ctx.staging, small) if data.startswith(_LFS_POINTER)
    }
    for change in changes:
        if change.new_blob in pointers:
            yield f"a Git LFS pointer whose content would not be pushed: {shown_path(change.path)}"
