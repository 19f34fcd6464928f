"""Which installation of ours the daemon runs, and whether another lies in its place by now.

A program may be replaced below a process that goes on: what it imports later, and whatever it starts, is then
of the new version, and fits to nothing. Must not import anything: by then that could not be trusted.
Source: PyPA, "Recording installed projects": each installation writes a RECORD of its own.
"""

from __future__ import annotations

import os
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


def note() -> None:
    """Note the installation as it is now, for this process and those that it starts."""
    os.environ[_NOTED] = sign()


def noted() -> Mapping[str, str]:
    """Give what tells a child which installation its daemon runs; nothing where that is a checkout."""
    return {_NOTED: os.environ[_NOTED]} if os.environ.get(_NOTED) else {}


def is_replaced() -> bool:
    """Tell whether what was noted is gone, or another lies in its place; a checkout is never replaced."""
    before = os.environ.get(_NOTED)
    return bool(before) and sign() != before


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


def sign() -> str:
    """Give what another installation in this place would not have; empty where there is none."""
    try:
        with os.scandir(Path(autopilot.__path__[0]).parent) as entries:
            ours = [each for each in entries if each.name.startswith(_PREFIX) and each.name.endswith(_SUFFIX)]
        seen = [(each.name, Path(each.path, "RECORD").stat()) for each in ours]
    except OSError:
        return ""
    return " ".join(f"{name}:{at.st_ino}:{at.st_size}:{at.st_mtime_ns}" for name, at in sorted(seen))
