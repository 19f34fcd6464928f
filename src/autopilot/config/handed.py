"""Variables that the operator handed to the service: a service does not see a terminal's environment.

Must not be shown to anybody, and not be read at all where others may read the file.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
from typing import TYPE_CHECKING

from autopilot.config.atomic import make_folder, write_atomically
from autopilot.config.foreign_file import UnreadableError, open_plain
from autopilot.config.room import unusable
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MAX_BYTES = 256 * 1024
_OTHERS = 0o077
_OURS = "AUTOPILOT_HANDED"
"""Which variables of our environment came from the file; no name holds the sign between them."""


def file_beside(config_file: Path) -> Path:
    """Name the file."""
    return config_file.with_name("service-environment.json")


def read(path: Path) -> dict[str, str]:
    """Give what was handed over; nothing where there is no file.

    Raises:
        ConfigError: others may read the file, or it is not what we wrote.
    """
    try:
        content = _content(path)
        if content is None:
            return {}
        found = json.loads(content)
    except (UnreadableError, OSError, ValueError, RecursionError) as exc:
        what = f"{path} cannot be used: {exc}"
        hint = f"chmod 600 {shlex.quote(str(path))}, or remove it and repeat: autopilot install --pass NAME"
        raise ConfigError("handed-unusable", what, hint=hint) from exc
    if not isinstance(found, dict) or not all(_is_variable(*pair) for pair in found.items()):
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

    Once more, what came from the file is as it is there by now: a credential may have been changed.

    Raises:
        ConfigError: the file cannot be used.
    """
    found, ours = read(path), set(filter(None, os.environ.get(_OURS, "").split("=")))
    for name in ours - found.keys():
        os.environ.pop(name, None)
    taken = [name for name in found if name in ours or name not in os.environ]
    os.environ.update((name, found[name]) for name in taken)
    if taken or ours:
        os.environ[_OURS] = "=".join(taken)


def _content(path: Path) -> bytes | None:
    """Read the file that was looked at, and not another that was given its name since."""
    try:
        descriptor = open_plain(path)
    except UnreadableError as exc:
        if isinstance(exc.__cause__, FileNotFoundError):
            return None
        raise
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & _OTHERS:
            raise UnreadableError("others may read it")
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise UnreadableError(f"it is larger than {_MAX_BYTES} bytes")
    return content


def _is_variable(name: str, value: object) -> bool:
    """Tell whether an environment can hold it."""
    return bool(name) and "=" not in name and isinstance(value, str) and "\0" not in name + value
