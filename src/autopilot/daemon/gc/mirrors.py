"""Keeps our mirrors small and quick: packs loose objects, and clears away what a killed git left in its way.

Must not drop an object: runs borrow from a mirror and name commits that no ref of it holds any more. Must not
believe an exit code: git does nothing and says 0 where a lock lies, so objects are counted before and after.
Source: git-gc(1), "repositories that borrow"; docs/decisions/0027.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import Git, GitError
from autopilot.config.logs import logger
from autopilot.config.removal import sizes
from autopilot.daemon.store import queries_runs
from autopilot.runner.failure import RunFailure
from autopilot.runner.locks import clear_stale_locks, held
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.desk import Desk

LOOSE_FROM = 256
PACKS_FROM = 8
STALE_LOCK_S = 3600.0
_PATIENCE_S = 1.0
_LOCKS = (
    *("objects/maintenance.lock", "objects/info/commit-graph.lock", "objects/pack/multi-pack-index.lock"),
    *("objects/info/commit-graphs/commit-graph-chain.lock", "gc.pid", "gc.pid.lock", "gc.log.lock"),
    *("packed-refs.lock", "config.lock", "HEAD.lock", "shallow.lock", "index.lock"),
)
_PID = "gc.pid"
_LEFT_BY_PACKING = ("tmp_pack_*", "tmp_idx_*", "tmp_rev_*", ".tmp-*", "tmp_obj_*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorState:
    """A mirror as it is now, and what was done to it."""

    repo: str
    size_bytes: int
    loose: int
    packs: int
    garbage: int
    loose_before: int | None = None
    packs_before: int | None = None
    removed: tuple[str, ...] = ()
    """Locks and temporary files that a dead process had left."""
    note: str = ""

    def __str__(self) -> str:
        """Say it in one line."""
        before = ""
        if self.loose_before is not None:
            before = f" (before: {self.loose_before} loose, {self.packs_before} packs)"
        removed = f"; removed {', '.join(self.removed)}" if self.removed else ""
        note = f"; {self.note}" if self.note else ""
        size = f"{self.size_bytes / 1024 / 1024:.1f} MiB"
        return f"{self.repo}: {size}, {self.loose} loose objects, {self.packs} packs{before}{removed}{note}"


def states(desk: Desk) -> list[MirrorState]:
    """Look at every mirror."""
    return [_state(_git(desk), folder) for folder in _folders(desk)]


def maintain(desk: Desk) -> list[MirrorState]:
    """Pack every mirror that wants it, while no run is under way."""
    return [_maintained(desk, folder) for folder in _folders(desk)]


def _maintained(desk: Desk, folder: Path) -> MirrorState:
    git = _git(desk)
    try:
        with held(folder.with_name(f"{folder.name}.lock"), timeout_s=_PATIENCE_S, clock=desk.clock):
            with desk.store.read() as conn:
                if queries_runs.running(conn) or queries_runs.publishing(conn):
                    return _state(git, folder, note="left alone while runs are under way")
            return _packed(desk, git, folder)
    except (GitError, RunFailure, OSError) as exc:
        return _state(git, folder, note=f"could not be packed: {exc}")


def _packed(desk: Desk, git: Git, folder: Path) -> MirrorState:
    removed, note = _cleared(desk, folder)
    before = _state(git, folder)
    if before.loose < LOOSE_FROM and before.packs < PACKS_FROM:
        return _state(git, folder, removed=removed, note=note)
    # What no ref reaches stays in the pack: a run may have been cut from it (git-repack(1), -k). Where there
    # was no pack before, git 2.39 leaves loose objects of that kind alone, and takes them the second time.
    git.run("repack", "-a", "-d", "-k", "-q", git_dir=folder)
    if _state(git, folder).loose:
        git.run("repack", "-a", "-d", "-k", "-q", git_dir=folder)
    git.run("pack-refs", "--all", git_dir=folder)
    after = _state(git, folder, before=before, removed=removed, note=note)
    if after.loose >= before.loose and after.packs >= before.packs:
        after = _state(git, folder, before=before, removed=removed, note="git said yes and did nothing")
    logger("gc").info(
        Event.MIRROR_PACKED,
        repo=after.repo,
        size_bytes=after.size_bytes,
        loose=after.loose,
        packs=after.packs,
        loose_before=before.loose,
        packs_before=before.packs,
    )
    return after


def _cleared(desk: Desk, folder: Path) -> tuple[tuple[str, ...], str]:
    """Remove locks and half-written packs that are old and that nobody has open."""
    candidates = [folder / name for name in _LOCKS]
    for pattern in _LEFT_BY_PACKING:
        candidates += (folder / "objects" / "pack").glob(pattern)
        candidates += (folder / "objects").glob(f"??/{pattern}")
    candidates += (folder / "refs").rglob("*.lock")
    removed, held_by = [], ""
    for path in candidates:
        if path.name == _PID and (pid := _living_git(path)):
            held_by = f"{path} belongs to process {pid}"
            continue
        try:
            gone = clear_stale_locks([path], desk.clock, stale_after_s=STALE_LOCK_S)
        except RunFailure as exc:
            held_by = exc.what
            continue
        removed += [str(one.relative_to(folder)) for one in gone]
    for name in removed:
        logger("gc").warning(Event.LOCK_REMOVED, path=str(folder / name))
    return tuple(removed), held_by


def _living_git(pid_file: Path) -> int | None:
    """Read whose `gc.pid` it is; None when that process is gone, or another program has its number now."""
    try:
        pid = int(read_plain(pid_file, max_bytes=4096).split()[0])
        return pid if "git" in psutil.Process(pid).name() else None
    except (UnreadableError, ValueError, IndexError, OverflowError, psutil.Error):
        return None


def _state(
    git: Git,
    folder: Path,
    *,
    before: MirrorState | None = None,
    removed: tuple[str, ...] = (),
    note: str = "",
) -> MirrorState:
    """Count objects as git does. Source: git-count-objects(1), `-v`."""
    counts: dict[str, int] = {}
    try:
        for line in git.run("count-objects", "-v", git_dir=folder).decode().splitlines():
            key, _, value = line.partition(": ")
            with suppress(ValueError):
                counts[key] = int(value)
    except GitError as exc:
        note = note or f"cannot be read: {exc.what}"
    return MirrorState(
        repo=folder.name.removesuffix(".git"),
        size_bytes=sizes(folder)[0],
        loose=counts.get("count", 0),
        packs=counts.get("packs", 0),
        garbage=counts.get("garbage", 0),
        loose_before=before.loose if before else None,
        packs_before=before.packs if before else None,
        removed=removed,
        note=note,
    )


def _folders(desk: Desk) -> list[Path]:
    place = desk.paths.mirrors
    if place.is_symlink() or not place.is_dir():
        return []
    return [path for path in sorted(place.glob("*.git")) if path.is_dir() and not path.is_symlink()]


def _git(desk: Desk) -> Git:
    return Git(desk.clock, desk.paths.state / "gc-git", timeout_s=desk.settings.timeouts.git_s)
