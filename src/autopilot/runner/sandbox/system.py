"""What every program may read of this machine: the system's own folders, without its secrets.

Must not name a folder that holds what people keep: homes, /srv, /mnt, /var and the like are not shown.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of Debian, Fedora, Arch, Alpine, SUSE, NixOS and Guix; /nix and /gnu hold packages only.
FOLDERS = tuple(
    Path("/", name)
    for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu")
)
_SETTINGS = Path("/etc")


def is_system(path: Path) -> bool:
    """Tell whether a path lies in one of the system's folders."""
    return any(path == folder or path.is_relative_to(folder) for folder in FOLDERS)


def secrets() -> Iterator[Path]:
    """Name what in /etc not everybody may read, and this user could: password files, keys of the host.

    Source: who may read a file but is not everybody (root, or a member of its group) must not lend that to
    an agent.
    """
    for top, folders, files in os.walk(_SETTINGS):
        here = Path(top)
        private = [name for name in folders if not _is_public(here / name, stat.S_IXOTH | stat.S_IROTH)]
        folders[:] = [name for name in folders if name not in private]
        hidden = [*private, *(name for name in files if not _is_public(here / name, stat.S_IROTH))]
        yield from (here / name for name in hidden if os.access(here / name, os.R_OK))


def _is_public(path: Path, bits: int) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return True
    is_plain = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
    return not is_plain or bool(status.st_mode & bits)
