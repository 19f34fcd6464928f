"""A private folder for one try, for one publisher at a time.

What a killed try left behind is removed. Must not be used for anything that has to survive.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.removal import remove_tree
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRY = "try-"


class PublisherBusy(TransientError):
    """Another publisher is at work on the same publication."""

    def __init__(self, workdir: Path) -> None:
        """Take the folder that it holds."""
        hint = "nothing to do: its report counts"
        super().__init__("publisher-busy", f"another publisher works in {workdir}", hint=hint)


@contextmanager
def workspace(workdir: Path) -> Iterator[Path]:
    """Give a fresh folder (0700) inside `workdir`, and remove it in the end.

    Raises:
        PublisherBusy: another publisher is at work on the same publication.
    """
    workdir.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(workdir / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise PublisherBusy(workdir) from exc
        for stale in workdir.glob(f"{_TRY}*"):
            _removed(stale)
        folder = Path(tempfile.mkdtemp(prefix=_TRY, dir=workdir))
        try:
            yield folder
        finally:
            _removed(folder)
    finally:
        os.close(handle)


def _removed(folder: Path) -> None:
    """Remove a try's folder; what stays is found by the next try, or by `autopilot gc`."""
    with suppress(OSError):
        remove_tree(folder)
