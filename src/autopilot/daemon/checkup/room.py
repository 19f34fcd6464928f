"""Disk and memory: what is free, what the floors keep, and what tonight's worktrees may need beside that.

Must not change anything.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import psutil

from autopilot.config.git import Git, GitError
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.demand import load_per_cpu
from autopilot.runner.mirror import BASES
from autopilot.runner.stacks.tree import Tree
from autopilot.schemas.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check

_MIB = 1024**2
_COPIES = 3
"""Of a checkout for each run: the worktree, the check-out of its gates, the one before publishing."""
_UNLIMITED = 8
"""Runs that are counted with where the configuration sets no limit."""


def room(scene: Scene, limit: Limit) -> Iterator[Check]:
    """Compare what is free with the floors, and with what the runs of tonight may take."""
    settings = scene.settings
    free = shutil.disk_usage(scene.paths.state).free
    memory = psutil.virtual_memory()
    seen = f"{free / GIB:.1f} GiB of disk and {memory.available / GIB:.1f} GiB of memory are free"
    floors = (settings.min_free_disk_gib * GIB, settings.min_free_memory_gib * GIB)
    if free < floors[0] or memory.available < floors[1]:
        told = f"{settings.min_free_disk_gib} GiB of disk and {settings.min_free_memory_gib} GiB of memory"
        yield blocked("room", f"{seen}; the floors are {told}", "make room, or lower the floors")
        return
    yield ok("room", seen)
    yield from busy(load_per_cpu(), settings.max_load_per_cpu)
    slots = settings.max_parallel_agents or _UNLIMITED
    is_limited = settings.max_parallel_agents > 0
    yield disk_for(slots, largest(scene, limit), free_bytes=int(free - floors[0]), is_limited=is_limited)
    most = settings.sandbox.memory_mib * _MIB
    yield memory_for(slots, most, available=memory.available, total=memory.total)


def busy(load: float | None, most: float) -> Iterator[Check]:
    """Say that nothing would start now; by night it may be another matter, so it is no reason not to arm."""
    if load is not None and 0 < most < load:
        seen = f"for five minutes {load:.1f} processes wanted each processor; nothing starts above {most:g}"
        yield warning("load", seen, "end what keeps it busy, or raise max_load_per_cpu (0 = no limit)")


def disk_for(slots: int, checkout_bytes: int | None, *, free_bytes: int, is_limited: bool = True) -> Check:
    """Judge whether so many runs fit on the disk above its floor.

    Args:
        slots: runs at the same time.
        checkout_bytes: of the largest repository; None where none was fetched yet.
        free_bytes: above the floor.
        is_limited: whether the configuration says how many; else one has to fit.
    """
    if checkout_bytes is None:
        return ok("worktrees", "their size is known when a repository has been fetched")
    need = slots * _COPIES * checkout_bytes
    above = f"{free_bytes / GIB:.1f} GiB are free above the floor"
    seen = f"{slots} at once take up to {need / GIB:.2f} GiB; {above}"
    if need <= free_bytes:
        return ok("worktrees", seen)
    fit = free_bytes // max(1, _COPIES * checkout_bytes)
    cure = f"make room, or set max_parallel_agents = {fit}" if fit else "make room: not even one fits"
    return blocked("worktrees", seen, cure) if is_limited or not fit else warning("worktrees", seen, cure)


def memory_for(slots: int, most_bytes: int, *, available: int, total: int) -> Check:
    """Judge what so many agents may take together, which is more than they need as a rule.

    Nothing starts below the floor of free memory; what this machine could never give is worth a word.

    Args:
        slots: runs at the same time.
        most_bytes: which each may take; 0: a part of what there is.
        available: what is free now.
        total: what the machine has.
    """
    most = f"{slots} at once may take {slots * (most_bytes or total * 3 // 4) / GIB:.1f} GiB"
    seen = f"{most}; {available / GIB:.1f} GiB are free, and none starts below the floor"
    if slots * most_bytes <= total:
        return ok("memory of runs", seen)
    cure = f"set max_parallel_agents = {max(1, total // most_bytes)}, or a lower memory_mib in [sandbox]"
    return warning("memory of runs", f"{seen}; the machine has {total / GIB:.1f} GiB", cure)


def largest(scene: Scene, limit: Limit) -> int | None:
    """Give the bytes of the largest base checkout among the mirrors that are there."""
    sizes = [
        size
        for repo in scene.settings.repos
        for size in _checkouts(scene.paths.mirror(repo.name), scene, limit)
    ]
    return max(sizes, default=None)


def _checkouts(mirror: Path, scene: Scene, limit: Limit) -> Iterator[int]:
    """Add up the files of each base branch of a mirror, without checking one out."""
    if not (mirror / "HEAD").is_file():
        return
    git = Git(
        scene.clock,
        scratch=scene.paths.state,
        timeout_s=limit.left_s,
        grace_s=1.0,
        should_stop=limit.should_stop,
    )
    try:
        refs = git.run("for-each-ref", "--format=%(objectname)", BASES, git_dir=mirror)
        for sha in dict.fromkeys(refs.decode().split()):
            yield sum(blob.size_bytes for blob in Tree.at(git, mirror, sha).blobs.values())
    except GitError:
        return  # the repository's own lines say what is wrong with it
