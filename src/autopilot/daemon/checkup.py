"""Looks over this machine and its configuration: each line has a verdict, its evidence and the cure.

Must not change anything or read a secret's value. `autopilot doctor` prints all lines; `autopilot on` refuses
to arm when one blocks.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import psutil

from autopilot.config import environ, secrets
from autopilot.config.git import Git, GitError
from autopilot.config.load import load
from autopilot.config.paths import find_paths
from autopilot.daemon.api import client
from autopilot.daemon.statedir import check_state_dir
from autopilot.daemon.store.engine import open_store
from autopilot.launchd import awake
from autopilot.runner.agents.registry import program_of
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings

_GIB = 1024**3
_REMOTE_S = 20.0
# Source: sqlite.org/releaselog: the WAL-reset race is mended in 3.51.3, 3.50.7 and 3.44.6.
_MENDED_SQLITE = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


class Finding(StrEnum):
    """How a line stands."""

    OK = "ok"
    WARNING = "warning"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Check:
    """One line: what was looked at, what was seen, and what mends it."""

    name: str
    finding: Finding
    evidence: str
    cure: str = ""

    @property
    def blocks(self) -> bool:
        """Tell whether the night must not begin."""
        return self.finding is Finding.BLOCKED


def check_all(clock: Clock) -> tuple[Check, ...]:
    """Look at everything; a fault of one line never hides the others."""
    paths = find_paths()
    lines = [_guarded("state", lambda: _state(paths)), _guarded("programs", _git_program)]
    try:
        settings = load(paths)
    except AutopilotError as error:
        return (*lines, Check("configuration", Finding.BLOCKED, error.what, error.hint))
    lines.append(_configured(settings, paths))
    lines += [_agent(name, settings) for name in _used_agents(settings)]
    lines += [_remote(name, settings, clock, paths) for name in _names(settings)]
    lines += list(_credentials(settings))
    lines += [
        _guarded("database", lambda: _database(paths, clock)),
        _guarded("room", lambda: _room(settings, paths)),
        _sleep_lock(),
        _sqlite(),
        _sandbox(),
        _daemon(paths),
    ]
    return tuple(lines)


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except AutopilotError as error:
        return Check(name, Finding.BLOCKED, error.what, error.hint)


def _state(paths: Paths) -> Check:
    check_state_dir(paths.ensure().state)
    return Check("state", Finding.OK, f"{paths.state} is private and local")


def _git_program() -> Check:
    found = shutil.which("git", path=environ.current().get("PATH"))
    if found is None:
        return Check("git", Finding.BLOCKED, "git is not on PATH", "install git")
    return Check("git", Finding.OK, found)


def _names(settings: Settings) -> tuple[str, ...]:
    return tuple(repo.name for repo in settings.repos)


def _configured(settings: Settings, paths: Paths) -> Check:
    names = _names(settings)
    if not names:
        cure = "run autopilot init inside a repository"
        return Check("configuration", Finding.BLOCKED, f"{paths.config_file} names no repository", cure)
    return Check("configuration", Finding.OK, f"{paths.config_file}: {', '.join(names)}")


def _used_agents(settings: Settings) -> list[str]:
    return sorted({repo.agent or settings.default_agent for repo in settings.repos})


def _agent(name: str, settings: Settings) -> Check:
    label = f"agent {name}"
    agent = settings.agent(name)
    program = program_of(agent)
    if program is None:
        return Check(label, Finding.OK, f"{agent.kind}: part of autopilot")
    found = shutil.which(program, path=environ.current().get("PATH"))
    if found is None:
        cure = f"install it, or say where it is: [agents.{name}] argv"
        return Check(label, Finding.BLOCKED, f"{program} is not on PATH", cure)
    return Check(label, Finding.OK, found)


def _remote(name: str, settings: Settings, clock: Clock, paths: Paths) -> Check:
    label, repo = f"repository {name}", settings.repo(name)
    git = Git(clock=clock, scratch=paths.state, timeout_s=_REMOTE_S, user_config=True)
    wanted = f"refs/heads/{repo.base}" if repo.base else "HEAD"
    try:
        answer = git.run("ls-remote", "--", repo.fetch_from, wanted, cwd=paths.state)
    except GitError as error:
        return Check(
            label, Finding.BLOCKED, error.what, error.hint or f"try: git ls-remote {repo.fetch_from}"
        )
    if not answer.strip():
        return Check(
            label, Finding.BLOCKED, f"the remote has no {wanted}", "set base to a branch that exists"
        )
    return Check(label, Finding.OK, f"{repo.fetch_from} answers; {wanted} is {answer[:12].decode()}")


def _credentials(settings: Settings) -> Iterator[Check]:
    for name in sorted({repo.credential for repo in settings.repos if repo.credential}):
        standing = secrets.status(name)
        if standing == "readable":
            yield Check(f"credential {name}", Finding.OK, "is there and can be read")
        else:
            cure = f"keyring set autopilot {name}, or set AUTOPILOT_SECRET_{name.upper().replace('-', '_')}"
            yield Check(f"credential {name}", Finding.BLOCKED, f"is {standing}", cure)


def _database(paths: Paths, clock: Clock) -> Check:
    store = open_store(paths.database, clock)
    try:
        store.check()
    finally:
        store.close()
    return Check("database", Finding.OK, f"{paths.database} is whole")


def _room(settings: Settings, paths: Paths) -> Check:
    disk, memory = shutil.disk_usage(paths.state).free / _GIB, psutil.virtual_memory().available / _GIB
    seen = f"{disk:.1f} GiB of disk and {memory:.1f} GiB of memory are free"
    if disk < settings.min_free_disk_gib or memory < settings.min_free_memory_gib:
        floors = f"{settings.min_free_disk_gib} GiB of disk and {settings.min_free_memory_gib} GiB of memory"
        return Check(
            "room", Finding.BLOCKED, f"{seen}; the floors are {floors}", "make room, or lower the floors"
        )
    return Check("room", Finding.OK, seen)


def _sleep_lock() -> Check:
    with awake.hold(reason="autopilot is looking whether it may keep this machine awake") as lock:
        if lock.kind != "none":
            return Check("sleep lock", Finding.OK, f"{lock.kind} gives it")
        cure = "keep the machine awake yourself tonight"
        return Check("sleep lock", Finding.WARNING, f"{lock.detail} [{lock.warning}]", cure)


def _sqlite() -> Check:
    version = sqlite3.sqlite_version_info
    mended = any(version[:2] == fixed[:2] and version >= fixed for fixed in _MENDED_SQLITE)
    if mended or version >= _MENDED_SQLITE[0]:
        return Check("sqlite", Finding.OK, sqlite3.sqlite_version)
    seen = f"{sqlite3.sqlite_version} may lose commits when two programs checkpoint at once"
    return Check(
        "sqlite", Finding.WARNING, seen, f"nothing to do: only the daemon checkpoints ({sys.executable})"
    )


def _sandbox() -> Check:
    seen = "agents and tests run as you, in their own worktree but without an operating-system sandbox"
    return Check("sandbox", Finding.WARNING, seen, "queue only tickets whose text you trust")


def _daemon(paths: Paths) -> Check:
    try:
        health = client.call(paths.control_socket, "GET", "/v1/health")
    except client.DaemonAwayError:
        return Check("daemon", Finding.OK, "none runs; autopilot on starts one")
    except AutopilotError as error:
        return Check("daemon", Finding.BLOCKED, error.what, error.hint)
    return Check("daemon", Finding.OK, f"version {health['version']} runs as pid {health['pid']}")
