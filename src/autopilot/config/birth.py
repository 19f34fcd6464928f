"""When a folder was made: unlike its number it never comes round again, and unlike its times nobody sets it.

Must not be needed: a system or a disk that does not tell gives None, and the folder's number has to do.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from pathlib import Path

_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _STATX_BTIME = -100, 0x100, 0x800
_SIZE, _BTIME_AT = 256, 80
_NS_PER_S = 1_000_000_000


def born_ns(path: Path) -> int | None:
    """Tell when a file was made (UTC epoch ns); None where that is not known. A link is looked at itself.

    Source: statx(2), linux/stat.h `struct statx`: the mask comes first, stx_btime at byte 80.
    """
    if sys.platform != "linux":
        return _by_stat(path)
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    told = ctypes.create_string_buffer(_SIZE)
    name = os.fsencode(path)
    if statx is None or statx(_AT_FDCWD, name, _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, told) != 0:
        return None
    (mask,) = struct.unpack_from("=I", told.raw)
    seconds, nanoseconds = struct.unpack_from("=qI", told.raw, _BTIME_AT)
    return int(seconds) * _NS_PER_S + int(nanoseconds) if mask & _STATX_BTIME else None


def _by_stat(path: Path) -> int | None:
    """Ask as macOS tells. Source: docs.python.org/3/library/os.html, `st_birthtime`."""
    try:
        born_s: float | None = getattr(path.lstat(), "st_birthtime", None)
    except OSError:
        return None
    return None if born_s is None else round(born_s * _NS_PER_S)
