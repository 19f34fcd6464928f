"""The files of a service on the disk: what is there, what would be written, and their removal.

Must not touch a file that is not ours: one of the same name that we did not write, or a link, is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autopilot.config.atomic import make_folder, sync_folder, write_atomically
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.room import unusable
from autopilot.schemas.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from autopilot.launchd.keeper import Keeper

_MAX_BYTES = 256 * 1024
_MODE = 0o644
_FOLDER_MODE = 0o755


@dataclass(frozen=True, slots=True)
class Planned:
    """One file."""

    path: Path
    content: bytes
    act: Literal["new", "changed", "same"]


def plan(keeper: Keeper, files: Mapping[str, bytes]) -> tuple[Planned, ...]:
    """Compare with what is there.

    Raises:
        RefusedError: something that is not ours lies there.
    """
    return tuple(_planned(keeper, keeper.folder / name, content) for name, content in files.items())


def write(planned: Iterable[Planned]) -> None:
    """Write what is new or changed.

    Raises:
        ConfigError: the folder cannot be written.
    """
    for file in planned:
        if file.act != "same":
            try:
                make_folder(file.path.parent, mode=_FOLDER_MODE)
                write_atomically(file.path, file.content, mode=_MODE)
            except OSError as exc:
                what = f"cannot write {file.path}: {exc.strerror}"
                raise unusable("service-unwritable", what, exc, hint="make its folder writable") from exc


def ours(keeper: Keeper, names: Iterable[str]) -> list[Path]:
    """Name the files of ours that are there."""
    paths = [keeper.folder / name for name in names]
    return [path for path in paths if (found := read(path)) is not None and keeper.is_ours(found)]


def remove(paths: Iterable[Path]) -> None:
    """Remove files.

    Raises:
        ConfigError: one cannot be removed.
    """
    for path in paths:
        try:
            path.unlink(missing_ok=True)
            sync_folder(path.parent)
        except OSError as exc:
            what = f"cannot remove {path}: {exc.strerror}"
            raise unusable("service-unwritable", what, exc, hint="make its folder writable") from exc


def read(path: Path) -> bytes | None:
    """Give a file's content; None where there is no plain file."""
    try:
        return read_plain(path, max_bytes=_MAX_BYTES)
    except UnreadableError:
        return None


def _planned(keeper: Keeper, path: Path, content: bytes) -> Planned:
    if not path.exists() and not path.is_symlink():
        return Planned(path, content, "new")
    found = read(path)
    if found is None or not keeper.is_ours(found):
        what = f"{path} is there, and autopilot did not write it"
        raise RefusedError("service-foreign", what, hint="move it away, then repeat the command")
    return Planned(path, content, "same" if found == content else "changed")
