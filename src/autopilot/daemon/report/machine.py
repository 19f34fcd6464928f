"""What this machine is: versions of everything that takes part, room, memory, limits and clocks.

Must not tell its name, and must not start a program in any folder but an empty one of its own.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import sqlite3
import stat
import sys
import tempfile
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from autopilot.config import environ, proc
from autopilot.config.environ import child_environment
from autopilot.config.load import load
from autopilot.config.plain import one_line
from autopilot.config.room import has_no_room
from autopilot.daemon import statedir
from autopilot.daemon.checkup import who
from autopilot.daemon.report.pieces import Facts
from autopilot.daemon.version import program_version
from autopilot.launchd import power
from autopilot.runner.agents.registry import kind_of, program_of
from autopilot.runner.agents.release import release_in
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.units import MS_PER_S, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.report.pieces import Given, Piece

VERSIONS_WITHIN_S = 30.0
_ASKED_S = 8.0
_PROGRAMS = (("git",), ("bwrap",), ("systemctl",), ("sandbox-exec",), ("caffeinate",))
_ASKED_FOR_VERSION = frozenset({"git", "bwrap", "systemctl"})
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_LIMITS = ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_CORE")
_COUNTED = ("runs", "worktrees", "mirrors", "salvage", "digests", "reports", "backups", "checkup")
_MOST_ENTRIES = 100_000


def versions(given: Given, limit: Limit) -> Iterator[Piece]:
    """Give versions of the program, of what it is built on, and of what it starts."""
    value: dict[str, Any] = {
        "autopilot": program_version(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "program": sys.prefix,
        "system": platform.platform(),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "sqlite": sqlite3.sqlite_version,
        "packages": _packages(),
        "programs": {words[0]: _program(words, given.clock, limit) for words in _PROGRAMS},
        "agents": _agents(given, limit),
    }
    yield Facts("versions.json", "versions of the program and of what it works with", value)


def machine(given: Given, _: Limit) -> Iterator[Piece]:
    """Give room, memory, limits, clocks, and how the folders lie."""
    value = {
        "disk": {name: _disk(path) for name, path in _folders(given.paths).items()},
        "memory": _memory(),
        "processors": os.cpu_count(),
        "load": os.getloadavg(),
        "limits": _limits(),
        "is_root": os.geteuid() == 0,
        "clock": _clock(given.clock),
        "power": _power(),
        "entries": {name: _entries(given.paths.state / name) for name in _COUNTED},
    }
    yield Facts("machine.json", "room, memory, limits and clocks of this machine", value)


def _packages() -> dict[str, str]:
    """Give the versions of what we depend on; nothing in a tree that was never installed."""
    try:
        wanted = metadata.requires("autopilotd") or []
    except metadata.PackageNotFoundError:
        wanted = ["alembic", "apscheduler", "keyring", "psutil", "pydantic", "sqlalchemy", "structlog"]
    found: dict[str, str] = {}
    for name in (match[0] for each in wanted if (match := _NAME.match(each))):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not there"
    return found


def _program(words: Sequence[str], clock: Clock, limit: Limit) -> str:
    """Ask a program for its version; of one that is not asked, whether it is there."""
    found = shutil.which(words[0], path=environ.search_path(environ.current()))
    if found is None:
        return "not there"
    if words[0] not in _ASKED_FOR_VERSION:
        return "is there"
    return _said((found, *words[1:], "--version"), clock, limit).partition("\n")[0]


def _said(argv: Sequence[str], clock: Clock, limit: Limit) -> str:
    try:
        with tempfile.TemporaryDirectory(prefix="autopilot-report-") as folder:
            ended = proc.run(
                argv,
                cwd=Path(folder),
                env=child_environment(None, home=Path(folder)),
                output=Path(folder) / "said",
                clock=clock,
                wall_s=min(_ASKED_S, limit.left_s),
                grace_s=0.5,
                should_stop=limit.should_stop,
            )
            return ended.tail.decode("utf-8", "replace").strip() if ended.ok else "did not answer"
    except OSError as exc:
        return f"could not be asked: {exc.strerror}"


def _agents(given: Given, limit: Limit) -> dict[str, Any] | str:
    """Ask the program of each agent whose hooks we know for its number, as whoever will start it finds it."""
    try:
        settings = load(given.paths)
    except AutopilotError as error:
        return error.code
    path = environ.search_path(who.find(given.paths, given.clock).environment)
    found: dict[str, Any] = {}
    for name in settings.agents:
        spec = settings.agent(name)
        program = program_of(spec)
        place = shutil.which(program, path=path) if program else None
        release: object = None
        if place is not None and kind_of(spec).need is not None:
            release = release_in(_said((place, *spec.argv[1:], "--version"), given.clock, limit).encode())
        found[name] = {
            "kind": spec.kind,
            "is_there": program is None or place is not None,
            "release": None if release is None else str(release),
        }
    return found


def _folders(paths: Paths) -> dict[str, Path]:
    return {"state": paths.state, "logs": paths.logs, "temporary": Path(tempfile.gettempdir())}


def _disk(path: Path) -> dict[str, Any]:
    """Look at a folder, or at the nearest one above it that is there."""
    there = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    try:
        disk, status = os.statvfs(there), there.stat()
        kind = statedir.file_system_of(there, statedir.mounted())
    except OSError as exc:
        return {"fault": str(exc.strerror)}
    return {
        "exists": there == path,
        "file_system": kind,
        "is_read_only": bool(disk.f_flag & os.ST_RDONLY),
        "is_writable": os.access(there, os.W_OK | os.X_OK),
        "is_ours": status.st_uid == os.geteuid(),
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
        "total_bytes": disk.f_blocks * disk.f_frsize,
        "free_bytes": disk.f_bavail * disk.f_frsize,
        "free_entries": disk.f_favail,
        "is_full": has_no_room(there),
    }


def _memory() -> dict[str, int]:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return {
        "total_bytes": memory.total,
        "available_bytes": memory.available,
        "swap_total_bytes": swap.total,
        "swap_free_bytes": swap.free,
    }


def _limits() -> dict[str, list[int | str]]:
    found = {}
    for name in _LIMITS:
        if (number := getattr(resource, name, None)) is not None:
            pair = resource.getrlimit(number)
            found[name] = ["unlimited" if each == resource.RLIM_INFINITY else each for each in pair]
    return found


def _clock(clock: Clock) -> dict[str, Any]:
    now_ms = clock.now_ms()
    local = datetime.fromtimestamp(now_ms / MS_PER_S, tz=UTC).astimezone()
    awake_s, elapsed_s = clock.monotonic_s(), clock.elapsed_s()
    return {
        "now": iso_utc(now_ms),
        "local": f"{local:%Y-%m-%dT%H:%M:%S%z}",
        "zone": one_line(f"{local:%Z}"),
        "is_zone_set_by_TZ": "TZ" in environ.current(),
        "booted": iso_utc(round(psutil.boot_time() * MS_PER_S)),
        "awake_s": round(awake_s),
        "asleep_s": max(0, round(elapsed_s - awake_s)),
    }


def _power() -> dict[str, Any]:
    seen = power.battery()
    if seen is None:
        return {"has_battery": False}
    return {"has_battery": True, "percent": round(seen.percent), "is_on_mains": seen.is_on_mains}


def _entries(folder: Path) -> int | None:
    """Count what lies in a folder of ours; nothing where there is none."""
    try:
        with os.scandir(folder) as entries:
            return sum(1 for _ in zip(entries, range(_MOST_ENTRIES), strict=False))
    except OSError:
        return None
