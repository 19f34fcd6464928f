"""Where the set-up of each repository may read from: what the operator lists, and what its base names.

Must not ask a remote: it reads our own mirror, as the last run left it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.git import Git, GitError
from autopilot.daemon.checkup.check import ok, warning
from autopilot.runner.mirror import BASES
from autopilot.runner.stacks.registry_hosts import registry_places
from autopilot.runner.stacks.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.repository import Repo
    from autopilot.config.settings import Settings
    from autopilot.schemas.checkup import Check

_GIT_S = 20.0


def registries(settings: Settings, paths: Paths, clock: Clock) -> Iterator[Check]:
    """Name the hosts for each repository."""
    git = Git(clock=clock, scratch=paths.state, timeout_s=_GIT_S)
    for repo in settings.repos:
        label = f"set-up of {repo.name}"
        try:
            yield ok(label, _told(settings, repo, paths, git))
        except GitError as error:
            yield warning(label, error.what, error.hint or "the next run mends it, or says what it needs")


def _told(settings: Settings, repo: Repo, paths: Paths, git: Git) -> str:
    listed = ", ".join(settings.network.registry_hosts) or "nowhere"
    if not settings.network.registry_from_lock:
        return f"may read from {listed}; not from what a lock file names (registry_from_lock)"
    mirror = paths.mirror(repo.name)
    if not (mirror / "HEAD").is_file():
        return f"may read from {listed}; what its lock files name is known after its first run"
    named = ", ".join(_named(git, mirror)) or "no other host"
    return f"may read from {listed}; its lock files name {named}"


def _named(git: Git, mirror: Path) -> dict[str, None]:
    """Name each place once, over all base branches of the mirror."""
    tips = git.run("for-each-ref", "--format=%(objectname)", BASES, git_dir=mirror).decode().split()
    trees = (Tree.at(git, mirror, sha) for sha in dict.fromkeys(tips))
    return {f"{place.target} ({place.file})": None for tree in trees for place in registry_places(tree)}
