"""How to name a unix socket whose path is longer than the kernel's address field.

Must not change the working folder (threads share it). Stdlib only: the command line imports this at start.
Source: unix(7), sun_path is 108 bytes on Linux; 104 on macOS (sys/un.h).
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

from autopilot.schemas.errors import ConfigError

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ADDRESS_BYTES = 103


@contextmanager
def short_address(socket_path: Path) -> Iterator[str]:
    """Give a name for the socket that fits, valid inside the block.

    A long path is reached through a symbolic link to its folder, in a private temporary folder.

    Raises:
        ConfigError: not even the temporary folder has a short name.
    """
    if _fits(socket_path):
        yield str(socket_path)
        return
    import shutil  # noqa: PLC0415 - few paths are so long, and these two are half of the client's start
    import tempfile  # noqa: PLC0415 - as above

    for parent in (None, "/tmp"):  # noqa: S108 - mkdtemp makes a private folder in it
        folder = Path(tempfile.mkdtemp(prefix="ap-", dir=parent))
        try:
            link = folder / "d"
            link.symlink_to(socket_path.parent, target_is_directory=True)
            if _fits(link / socket_path.name):
                yield str(link / socket_path.name)
                return
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    raise ConfigError(
        "socket-path-too-long",
        f"no socket name fits into {MAX_ADDRESS_BYTES} bytes for {socket_path}",
        hint="set AUTOPILOT_HOME or TMPDIR to a shorter path",
    )


def _fits(path: Path) -> bool:
    return len(str(path).encode(errors="surrogateescape")) <= MAX_ADDRESS_BYTES
