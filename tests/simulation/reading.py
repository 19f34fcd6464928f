"""Faults where the daemon reads what its children left: EIO, EACCES, EMFILE, at the opening or later."""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from autopilot.config import foreign_file, journal
from autopilot.daemon import watch

if TYPE_CHECKING:
    from tests.simulation.ends import Patch
    from tests.simulation.world import World

_OFTEN = 0.02
_CODES = (errno.EACCES, errno.EIO, errno.EMFILE)


def reading(world: World) -> tuple[Patch, ...]:
    """What stands in for reading results, verdicts, reports and journals."""
    return (
        (foreign_file, "os", _BadDisk(world)),
        (watch, "read_lines", partial(_read_lines, world)),
    )


class _BadDisk:
    """The module `os`, on a disk that now and then does not give what is on it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._path = Path()

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: Path, flags: int) -> int:
        self._path = path
        if self._world.is_fault(_OFTEN):
            self._lose()
            raise _refusal(self._world, path.name, self._world.chance.one_of(_CODES))
        return os.open(path, flags)

    def fdopen(self, handle: int, mode: str) -> Any:
        file = os.fdopen(handle, mode)
        if not self._world.is_fault(_OFTEN):
            return file
        self._lose()
        return _BadFile(self._world, file)

    def _lose(self) -> None:
        """A run whose result is not given has not told what it cost."""
        if self._path.name == "result.json":
            self._world.purse.lose_result(self._path.parent.name)


class _BadFile:
    """An open file whose bytes cannot be read."""

    def __init__(self, world: World, file: Any) -> None:
        self._world = world
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, _: int) -> bytes:
        raise _refusal(self._world, "an open file", errno.EIO)


def _read_lines(world: World, path: Path, offset: int) -> journal.Reading:
    if world.is_fault(_OFTEN):
        raise _refusal(world, path.name, world.chance.one_of(_CODES))
    return journal.read_lines(path, offset)


def _refusal(world: World, name: str, code: int) -> OSError:
    world.note(f"{errno.errorcode[code]} at reading {name}")
    return OSError(code, os.strerror(code))
