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
from autopilot.config.passing import size_of
from autopilot.daemon import statedir
from autopilot.daemon.api import client
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.starts import failed_starts
from autopilot.daemon.store import copies
from autopilot.daemon.store.engine import open_store
from autopilot.daemon.upkeep import TELL_BYTES
from autopilot.schemas.errors import AutopilotError, TransientError
from autopilot.schemas.units import GIB, MS_PER_S, iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.scene import Runner
    from autopilot.schemas.checkup import Check

_STALE_MS = 3 * 24 * 3600 * MS_PER_S
# Source: sqlite.org/releaselog: the WAL-reset race is mended in 3.51.3, 3.50.7 and 3.44.6.
_MENDED_SQLITE = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


def state_folder(paths: Paths, *, mounts: Callable[[], Mapping[str, str]] | None = None) -> Check:
    """Look whether the queue may live where it does, and name the file system.

    Raises:
        ConfigError: it may not.
    """
    seen = (mounts or statedir.mounted)()
    statedir.check_state_dir(paths.ensure().state, mounts=lambda: seen)
    kind = statedir.file_system_of(paths.state, seen) or "an unknown file system"
    return ok("state", f"{paths.state} is private and local ({kind})")


def git_program(runner: Runner) -> Check:
    """Look for git where whoever starts the runs will look."""
    found = shutil.which("git", path=environ.search_path(runner.environment))
    return ok("git", found) if found else blocked("git", f"git is not on PATH{runner.owner}", "install git")


def database(paths: Paths, clock: Clock) -> Check:
    """Read the whole structure of the queue; name who has it open when it stays locked.

    Raises:
        ConfigError: it is damaged, newer than we are, or cannot be used.
    """
    statedir.check_file_system(paths.ensure().state)
    try:
        store = open_store(paths.database, clock)
        try:
            store.check()
        finally:
            store.close()
    except TransientError as error:
        who = ", ".join(_holders(paths.database)) or "a process of somebody else"
        return blocked("database", f"{error.what}: {who}", "wait for it, or end it")
    # Whoever closes the database last takes the log away.
    log_bytes = size_of(paths.database.with_name(f"{paths.database.name}-wal"))
    if log_bytes > TELL_BYTES:
        who = ", ".join(_holders(paths.database)) or "a process of somebody else"
        what = f"whole, but its write-ahead log has grown to {log_bytes / GIB:.1f} GiB"
        return warning("database", f"{paths.database} is {what}", f"who has it open: {who}")
    return ok("database", f"{paths.database} is whole")


def backups(paths: Paths, clock: Clock) -> Check:
    """Read the newest copies of the queue until one can be believed."""
    folder = paths.state / copies.BACKUP_FOLDER
    found = copies.in_folder(folder)
    newest = copies.newest_good(folder)
    if newest is None:
        if found:
            return warning(
                "backups", f"none of {len(found)} in {folder} is good", "autopilot backup makes one"
            )
        return ok("backups", "none yet; a daemon makes one a day, autopilot backup one at once")
    seen = (
        f"the newest good one of {len(found)} is of {iso_utc(newest.taken_ms)}, with {newest.tickets} tickets"
    )
    if newest.path != found[0]:
        return warning("backups", f"{seen}; {found[0]} is damaged", "autopilot backup list tells of each")
    if clock.now_ms() - newest.taken_ms > _STALE_MS:
        return warning("backups", seen, "autopilot backup makes one; the daemon's log says why it made none")
    return ok("backups", seen)


def _holders(database: Path) -> Iterator[str]:
    for process in psutil.process_iter(["pid", "name", "open_files"]):
        opened = process.info["open_files"] or ()
        if any(file.path == str(database) for file in opened):
            yield f"{process.info['name']} (pid {process.info['pid']})"


def sqlite() -> Check:
    """Look whether this SQLite has a fault that matters to us."""
    version = sqlite3.sqlite_version_info
    mended = any(version[:2] == fixed[:2] and version >= fixed for fixed in _MENDED_SQLITE)
    if mended or version >= _MENDED_SQLITE[0]:
        return ok("sqlite", sqlite3.sqlite_version)
    seen = f"{sqlite3.sqlite_version} may lose commits when two programs checkpoint at once"
    return warning("sqlite", seen, f"nothing to do: only the daemon checkpoints ({sys.executable})")


def daemon(paths: Paths) -> Check:
    """Ask a daemon for its health."""
    try:
        health = client.call(paths.control_socket, "GET", "/v1/health")
    except client.DaemonAwayError:
        failed = failed_starts(paths)
        if failed is None:
            return ok("daemon", "none runs; autopilot on starts one")
        seen = f"none runs; it failed to start {failed.count} times, the last time because: {failed.reason}"
        return warning("daemon", seen, failed.hint or "see daemon.out beside its log")
    except AutopilotError as error:
        return blocked("daemon", error.what, error.hint)
    told = f"version {health['version']} runs as pid {health['pid']}"
    if trouble := health.get("trouble"):
        since = iso_utc(trouble["since_ms"])
        return warning(
            "daemon", f"{told}; its tick fails since {since}: {trouble['reason']}", trouble["cure"]
        )
    return ok("daemon", told)
