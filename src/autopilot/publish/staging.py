"""A bare repository that has never met the run: one exact commit is fetched into it, every object checked.

No configuration, hook, alternate, replacement or graft of the run's repository takes part. Objects of the
base are borrowed from our own mirror. Must not push and must not read a working tree.
Source: git-fetch(1), git-fsck(1) "fsck messages"; ADR 0041 (what was tried against it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.git import GitError
from autopilot.config.shortage import refuse_full
from autopilot.publish.context import BASE_REF, HEAD_REF, Context, Findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

STRICT: Mapping[str, str] = {
    "fetch.fsckObjects": "true",
    "fetch.fsck.hasDot": "error",
    "fetch.fsck.hasDotdot": "error",
    "fetch.fsck.hasDotgit": "error",
    "fetch.fsck.fullPathname": "error",
    "core.commitGraph": "false",
    "protocol.version": "2",
}
_SHA256_DIGITS = 64
FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")


def check(ctx: Context) -> Findings:
    """Make the staging repository and fetch base and head into it; say why they cannot be trusted.

    Raises:
        TransientError: `disk-full`.
    """
    faults = tuple(source_faults(ctx.spec.source, ctx.spec.mirror))
    if faults:
        return Findings(faults)
    try:
        _make(ctx)
        _fetch(ctx, ctx.spec.mirror, ctx.spec.base_sha, BASE_REF)
        _fetch(ctx, ctx.spec.source, ctx.spec.head, HEAD_REF)
    except GitError as exc:
        refuse_full(exc, ctx.folder)
        return Findings((f"the commit could not be fetched whole: {exc.what}",))
    return Findings(tuple(_incomplete(ctx)))


def source_faults(source: Path, mirror: Path) -> Iterator[str]:
    """Name everything in the run's repository that would show us other objects than its own."""
    if not (source / "HEAD").is_file() or not (source / "objects").is_dir():
        yield "the run's repository is missing or is not a bare repository"
        return
    for name in ("objects", "refs", "packed-refs", "info", "objects/info", "objects/pack"):
        if (source / name).is_symlink():
            yield f"the run's repository has a symbolic link for {name}"
    for name in ("commondir", "gitdir", "shallow", "info/grafts", "objects/info/http-alternates"):
        if (source / name).exists():
            yield f"the run's repository has {name}"
    if _has_replacements(source):
        yield "the run's repository has replacement objects (refs/replace)"
    borrowed = [line for line in _lines(source / "objects" / "info" / "alternates") if line[:1] != b"#"]
    ours = (mirror / "objects").resolve()
    if any((source / "objects" / line.decode("utf-8", "replace")).resolve() != ours for line in borrowed):
        yield "the run's repository borrows objects from somewhere else than our mirror"


def _has_replacements(source: Path) -> bool:
    loose = source / "refs" / "replace"
    is_packed = any(b" refs/replace/" in line for line in _lines(source / "packed-refs"))
    return is_packed or (loose.is_dir() and any(loose.iterdir()))


def _lines(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().split(b"\n") if line]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _make(ctx: Context) -> None:
    kind = "sha256" if len(ctx.spec.head) == _SHA256_DIGITS else "sha1"
    ctx.git.run("init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(ctx.staging))
    info = ctx.staging / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{ctx.spec.mirror.resolve() / 'objects'}\n", encoding="utf-8")


def _fetch(ctx: Context, source: Path, sha: str, ref: str) -> None:
    ctx.git.run(*FETCH, "--", str(source), f"{sha}:{ref}", git_dir=ctx.staging, config=STRICT)


def _incomplete(ctx: Context) -> Iterator[str]:
    """Do not believe git's exit code: a forged shallow file makes it fetch half a history."""
    for ref, sha in ((BASE_REF, ctx.spec.base_sha), (HEAD_REF, ctx.spec.head)):
        try:
            found = ctx.git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", git_dir=ctx.staging)
        except GitError:
            found = b""
        if found.strip().decode() != sha:
            yield f"{ref} does not show the recorded commit {sha[:12]}"
            return
    if not ctx.git.check("rev-list", "--objects", "--quiet", HEAD_REF, f"^{BASE_REF}", git_dir=ctx.staging):
        yield "objects of the commit are missing"
