"""Which installation of ours the daemon runs, and whether another lies in its place by now.

A program may be replaced below a process that goes on: what it imports later, and whatever it starts, is then
of the new version, and fits to nothing. Must not import anything: by then that could not be trusted.
Source: PyPA, "Recording installed projects": each installation writes a RECORD of its own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import autopilot
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Mapping

CODE = "program-replaced"
CURE = "autopilot on"
_NOTED = "AUTOPILOT_PROGRAM"
"""Hands the daemon's sign on to its children."""
_PREFIX, _SUFFIX = "autopilotd-", ".dist-info"
_PLACES = frozenset({"site-packages", "dist-packages"})
_NO_RECORD = "none"
"""What is noted of an installation without a record: as a rule it is being written just now."""


def is_place(folder: Path) -> bool:
    """Tell whether programs are installed in this folder: else what lies in it is a checkout."""
    return folder.name in _PLACES


def note() -> None:
    """Note the installation as it is now, for this process and those that it starts."""
    os.environ[_NOTED] = sign() or (_NO_RECORD if is_place(_place()) else "")


def noted() -> Mapping[str, str]:
    """Give what tells a child which installation its daemon runs; nothing where that is a checkout."""
    return {_NOTED: os.environ[_NOTED]} if os.environ.get(_NOTED) else {}


def is_replaced() -> bool:
    """Tell whether what was noted is gone, or another lies in its place; a checkout is never replaced."""
    return is_another(sign())


def is_another(seen: str | None) -> bool:
    """Tell whether what was seen there is not what was noted; where nothing could be seen, it is the same."""
    before = os.environ.get(_NOTED)
    return bool(before) and seen is not None and (seen or _NO_RECORD) != before


def refuse_replaced() -> None:
    """Refuse to go on as another program than the daemon's.

    Raises:
        TransientError: `program-replaced`.
    """
    if is_replaced():
        raise replaced()


def replaced() -> TransientError:
    """Say that the program is another by now."""
    return TransientError(CODE, "another version of autopilot was installed meanwhile", hint=CURE)


def sign() -> str | None:
    """Give what another installation in this place would not have.

    Returns:
        It; empty where there is none; None where the machine cannot look now, which tells nothing.
    """
    place = _place()
    try:
        return _record_in(place) or next(filter(None, map(_record_in, _for_other_pythons(place))), "")
    except (OSError, MemoryError):
        return None


def _place() -> Path:
    return Path(autopilot.__path__[0]).parent


def _for_other_pythons(place: Path) -> list[Path]:
    """Name where a virtual environment has us that was made anew for another Python; it has but one."""
    if sys.prefix == sys.base_prefix or not is_place(place):
        return []
    return sorted(place.parent.parent.glob(f"python*/{place.name}"))


def _record_in(folder: Path) -> str:
    try:
        with os.scandir(folder) as entries:
            ours = [each for each in entries if each.name.startswith(_PREFIX) and each.name.endswith(_SUFFIX)]
        seen = [(each.name, Path(each.path, "RECORD").stat()) for each in ours]
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return " ".join(f"{name}:{at.st_ino}:{at.st_size}:{at.st_mtime_ns}" for name, at in sorted(seen))
