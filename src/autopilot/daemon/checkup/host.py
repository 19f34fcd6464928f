"""What this machine gives: folders, git, database, room, sleep lock, a daemon.

Must not change anything but the state folder's own mode.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from typing import TYPE_CHECKING

import psutil

from autopilot.config import environ
from autopilot.daemon.api import client
from autopilot.daemon.checkup.check import Check, blocked, ok, warning
from autopilot.daemon.statedir import check_state_dir
from autopilot.daemon.store.engine import open_store
from autopilot.launchd import awake
from autopilot.schemas.errors import AutopilotError, TransientError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings

_GIB = 1024**3
# Source: sqlite.org/releaselog: the WAL-reset race is mended in 3.51.3, 3.50.7 and 3.44.6.
_MENDED_SQLITE = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


def state_folder(paths: Paths) -> Check:
    """Look whether the queue may live where it does.

    Raises:
        ConfigError: it may not.
    """
    check_state_dir(paths.ensure().state)
    return ok("state", f"{paths.state} is private and local")


def git_program() -> Check:
    """Look for git."""
    found = shutil.which("git", path=environ.search_path(environ.current()))
    return ok("git", found) if found else blocked("git", "git is not on PATH", "install git")


def database(paths: Paths, clock: Clock) -> Check:
    """Read the whole structure of the queue; name who has it open when it stays locked.

    Raises:
        ConfigError: it is damaged, newer than we are, or cannot be used.
    """
    try:
        store = open_store(paths.database, clock)
        try:
            store.check()
        finally:
            store.close()
    except TransientError as error:
        who = ", ".join(_holders(paths.database)) or "a process of somebody else"
        return blocked("database", f"{error.what}: {who}", "wait for it, or end it")
    return ok("database", f"{paths.database} is whole")


def _holders(database: Path) -> Iterator[str]:
    for process in psutil.process_iter(["pid", "name", "open_files"]):
        opened = process.info["open_files"] or ()
        if any(file.path == str(database) for file in opened):
            yield f"{process.info['name']} (pid {process.info['pid']})"


def room(settings: Settings, paths: Paths) -> Check:
    """Compare free disk and memory with their floors."""
    disk, memory = shutil.disk_usage(paths.state).free / _GIB, psutil.virtual_memory().available / _GIB
    seen = f"{disk:.1f} GiB of disk and {memory:.1f} GiB of memory are free"
    if disk < settings.min_free_disk_gib or memory < settings.min_free_memory_gib:
        floors = f"{settings.min_free_disk_gib} GiB of disk and {settings.min_free_memory_gib} GiB of memory"
        return blocked("room", f"{seen}; the floors are {floors}", "make room, or lower the floors")
    return ok("room", seen)


def sleep_lock() -> Check:
    """Try for a sleep lock, and give it back."""
    with awake.hold(reason="autopilot is looking whether it may keep this machine awake") as lock:
        if lock.kind != "none":
            return ok("sleep lock", f"{lock.kind} gives it")
        cure = "keep the machine awake yourself tonight"
        return warning("sleep lock", f"{lock.detail} [{lock.warning}]", cure)


def sqlite() -> Check:
    """Look whether this SQLite has a fault that matters to us."""
    version = sqlite3.sqlite_version_info
    mended = any(version[:2] == fixed[:2] and version >= fixed for fixed in _MENDED_SQLITE)
    if mended or version >= _MENDED_SQLITE[0]:
        return ok("sqlite", sqlite3.sqlite_version)
    seen = f"{sqlite3.sqlite_version} may lose commits when two programs checkpoint at once"
    return warning("sqlite", seen, f"nothing to do: only the daemon checkpoints ({sys.executable})")


def sandbox() -> Check:
    """Say what this version does not protect from."""
    seen = "agents and tests run as you, in their own worktree but without an operating-system sandbox"
    return warning("sandbox", seen, "queue only tickets whose text you trust")


def daemon(paths: Paths) -> Check:
    """Ask a daemon for its health."""
    try:
        health = client.call(paths.control_socket, "GET", "/v1/health")
    except client.DaemonAwayError:
        return ok("daemon", "none runs; autopilot on starts one")
    except AutopilotError as error:
        return blocked("daemon", error.what, error.hint)
    return ok("daemon", f"version {health['version']} runs as pid {health['pid']}")
