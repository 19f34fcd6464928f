"""Whether the state folder is a place the queue can live in.

Must not create or change anything except the folder's own mode.
Source: sqlite.org/wal.html, section 2.4: WAL needs shared memory, which no network file system gives.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.paths import PRIVATE_DIR_MODE
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# A FUSE file system is known by the name after the dot; one that says none could be any of them, and one with
# a name that is not here is taken for local. What a host lends its guests and containers is like a network.
_SHARED_TYPES = frozenset(
    (
        *("9p", "acfs", "afpfs", "afs", "beegfs", "blobfuse", "blobfuse2", "ceph", "cephfs"),
        *("cifs", "coda", "cvmfs2", "davfs", "davfs2", "drvfs", "fakeowner", "fuse", "fusefs"),
        *("gcsfuse", "gfs2", "glusterfs", "goofys", "gpfs", "grpcfuse", "juicefs", "lustre"),
        *("macfuse", "mfs", "moosefs", "ncp", "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs"),
        *("osxfs", "osxfuse", "panfs", "prl_fs", "pvfs2", "quobyte", "rclone", "s3fs", "s3ql"),
        *("seaweedfs", "smb", "smb2", "smb3", "smbfs", "sshfs", "vboxsf", "virtiofs", "vmhgfs"),
        *("webdav", "webdavfs", "wekafs"),
    )
)
_IS_LINUX = sys.platform == "linux"
_HINT = "set AUTOPILOT_HOME to a folder of your own on a local disk, outside every repository"


def mounted() -> Mapping[str, str]:
    """Give the kind of file system at each mount point.

    Source: proc_pid_mounts(5) and fstab(5): fields are parted by spaces; a space or the like in one is octal.
    """
    if _IS_LINUX:
        lines = (line.split(b" ") for line in Path("/proc/self/mounts").read_bytes().splitlines())
        return {os.fsdecode(_without_octal(fields[1])): os.fsdecode(fields[2]) for fields in lines}
    import psutil  # noqa: PLC0415 - only where there is no /proc: every command asks this

    return {part.mountpoint: part.fstype for part in psutil.disk_partitions(all=True)}


def _without_octal(field: bytes) -> bytes:
    return re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), field)


def check_state_dir(state: Path, *, mounts: Callable[[], Mapping[str, str]] | None = None) -> None:
    """Refuse a state folder that would lose or expose the queue.

    Args:
        state: the folder, which exists.
        mounts: gives the kind of file system at each mount point.

    Raises:
        ConfigError: it lies inside a repository or on a network file system, belongs to somebody else, or has
            a name that not every program below it can carry.
    """
    if not _is_nameable(state):
        raise ConfigError(
            "state-dir-name",
            f"the path of the state folder {str(state)!r} holds a control character or {os.pathsep!r}",
            hint=_HINT,
        )
    if repository := _repository_around(state):
        raise ConfigError(
            "state-dir-in-repository",
            f"the state folder {state} lies inside the repository {repository}",
            hint=_HINT,
        )
    check_file_system(state, mounts=mounts)
    _make_private(state)


def check_file_system(state: Path, *, mounts: Callable[[], Mapping[str, str]] | None = None) -> None:
    """Refuse to open the queue where the memory of its log is not shared; what every command asks first.

    Args:
        state: the folder, which exists.
        mounts: gives the kind of file system at each mount point.

    Raises:
        ConfigError: it is on a network file system, or one that a host lends.
    """
    kind = file_system_of(state, (mounts or mounted)())
    if kind.removeprefix("fuse.").removesuffix("-fuse") in _SHARED_TYPES:
        raise ConfigError(
            "state-dir-on-network",
            f"the state folder {state} is on a network file system or one lent by a host ({kind}): the"
            " memory of SQLite's log is not shared across it, and the queue would be damaged",
            hint=_HINT,
        )


def _is_nameable(state: Path) -> bool:
    """Tell whether git and virtual environments can work below it: they keep lists of such paths.

    Source: gitrepository-layout(5), objects/info/alternates: one per line; `venv` refuses a PATH separator.
    """
    name = str(state.resolve())
    return os.pathsep not in name and not any(unicodedata.category(char) == "Cc" for char in name)


def _repository_around(state: Path) -> Path | None:
    real = state.resolve()
    return next((folder for folder in (real, *real.parents) if _is_repository(folder)), None)


def _is_repository(folder: Path) -> bool:
    """Tell whether git would stop here: at a work tree, whose `.git` may be a file, or a bare repository."""
    is_bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    return is_bare or _is_git_folder(folder / ".git")


def _is_git_folder(git: Path) -> bool:
    """Tell a `.git` from an empty folder of that name, which sandboxes leave behind and git walks past."""
    try:
        return git.exists() and not (git.is_dir() and not any(git.iterdir()))
    except PermissionError:
        return True


def file_system_of(state: Path, mounts: Mapping[str, str]) -> str:
    """Name the kind of file system that a folder is on; empty where that is not known."""
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
