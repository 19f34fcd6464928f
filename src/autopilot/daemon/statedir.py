"""Whether the state folder is a place the queue can live in.

Must not create or change anything except the folder's own mode.
Source: sqlite.org/wal.html, section 2.4: WAL needs shared memory, which no network file system gives.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import psutil

from autopilot.config.paths import PRIVATE_DIR_MODE
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb3", "smbfs", "afpfs", "webdav", "davfs", "ncpfs", "fuse.sshfs"}
)
_HINT = "set AUTOPILOT_HOME to a folder of your own on a local disk, outside every repository"


def mounted() -> Mapping[str, str]:
    """Give the kind of file system at each mount point."""
    return {part.mountpoint: part.fstype for part in psutil.disk_partitions(all=True)}


def check_state_dir(state: Path, *, mounts: Callable[[], Mapping[str, str]] = mounted) -> None:
    """Refuse a state folder that would lose or expose the queue.

    Args:
        state: the folder, which exists.
        mounts: gives the kind of file system at each mount point.

    Raises:
        ConfigError: it lies inside a repository or on a network file system, or belongs to somebody else.
    """
    if repository := _repository_around(state):
        raise ConfigError(
            "state-dir-in-repository",
            f"the state folder {state} lies inside the repository {repository}",
            hint=_HINT,
        )
    if (kind := _file_system_of(state, mounts())) in _NETWORK_TYPES:
        raise ConfigError(
            "state-dir-on-network",
            f"the state folder {state} is on a network file system ({kind})",
            hint=_HINT,
        )
    _make_private(state)


def _repository_around(state: Path) -> Path | None:
    real = state.resolve()
    return next((folder for folder in (real, *real.parents) if (folder / ".git").exists()), None)


def _file_system_of(state: Path, mounts: Mapping[str, str]) -> str:
    real = str(state.resolve())
    around = [point for point in mounts if real == point or real.startswith(point.rstrip("/") + "/")]
    return mounts[max(around, key=len)].lower() if around else ""


def _make_private(state: Path) -> None:
    status = state.stat()
    if status.st_uid != os.getuid():
        raise ConfigError(
            "state-dir-foreign", f"the state folder {state} belongs to another user", hint=_HINT
        )
    if stat.S_IMODE(status.st_mode) != PRIVATE_DIR_MODE:
        state.chmod(PRIVATE_DIR_MODE)
