"""Variables that the operator handed to the service: a service does not see a terminal's environment.

Must not be read by anybody but the service's daemon, and not at all where others may read the file.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

from autopilot.config.atomic import make_folder, write_atomically
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.room import unusable
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MAX_BYTES = 256 * 1024
_OTHERS = 0o077


def file_beside(config_file: Path) -> Path:
    """Name the file."""
    return config_file.with_name("service-environment.json")


def read(path: Path) -> dict[str, str]:
    """Give what was handed over; nothing where there is no file.

    Raises:
        ConfigError: others may read the file, or it is not what we wrote.
    """
    if not path.exists():
        return {}
    try:
        _refuse_open(path)
        found = json.loads(read_plain(path, max_bytes=_MAX_BYTES))
    except (UnreadableError, OSError, ValueError) as exc:
        what = f"{path} cannot be used: {exc}"
        hint = f"chmod 600 {path}, or remove it and repeat: autopilot install --pass NAME"
        raise ConfigError("handed-unusable", what, hint=hint) from exc
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ConfigError("handed-unusable", f"{path} holds no variables", hint="remove it")
    return found


def write(path: Path, variables: Mapping[str, str]) -> None:
    """Write the file, for this user alone.

    Raises:
        AutopilotError: it cannot be written.
    """
    try:
        make_folder(path.parent)
        write_atomically(path, json.dumps(dict(sorted(variables.items())), indent=1).encode())
    except OSError as exc:
        what = f"cannot write {path}: {exc.strerror}"
        raise unusable("handed-unusable", what, exc, hint="make its folder writable") from exc


def take_in(path: Path) -> None:
    """Let what was handed over stand in our own environment, where it is not set there already.

    Raises:
        ConfigError: the file cannot be used.
    """
    for name, value in read(path).items():
        os.environ.setdefault(name, value)


def _refuse_open(path: Path) -> None:
    if stat.S_IMODE(path.stat().st_mode) & _OTHERS:
        raise UnreadableError("others may read it")
