"""The folder of an old demonstration, which the demo itself marked as its own."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from autopilot.config.paths import paths_below
from autopilot.config.removal import sizes
from autopilot.daemon.demo.stage import MARK
from autopilot.daemon.gc import standing
from autopilot.daemon.gc.item import Item
from autopilot.daemon.gc.standing import DAY_MS
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.desk import Desk


def old_demo(desk: Desk, home: Path) -> Item | None:
    """Look at the demo's folder; None where there is none."""
    mark = home / MARK
    if home.is_symlink() or not mark.is_file() or mark.is_symlink():
        return None
    keep_days = desk.settings.gc.keep_days
    with desk.store.read() as conn:
        now_ms = standing.now_ms_for(desk, conn, keep_days)
    age_days = (now_ms - mark.lstat().st_mtime * MS_PER_S) / DAY_MS
    may_go, why = True, f"a demo that nobody has played for {keep_days} days"
    if home.lstat().st_uid != os.geteuid():
        may_go, why = False, "it belongs to another user"
    elif _is_held(mark) or _is_held(paths_below(home).daemon_lock):
        may_go, why = False, "a demo plays there, or its daemon runs"
    elif age_days < keep_days:
        may_go, why = False, f"a demo; kept for {keep_days} days"
    return Item(kind="demo", path=home, may_go=may_go, why=why, size_bytes=sizes(home)[0])


def _is_held(lock: Path) -> bool:
    """Tell whether a process holds a lock file of ours; one that is not there is held by nobody."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
