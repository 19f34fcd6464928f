"""What was found out at some cost, and still counts: a probe of an agent, a base commit's tests, a rehearsal.

One small file each below the state folder. Must not keep anything from being found out anew: what cannot be
read is not remembered, and what cannot be written is found out again.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError

from autopilot.config.atomic import make_folder, write_atomically
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.paths import PRIVATE_DIR_MODE
from autopilot.schemas.checkup import Check  # noqa: TC001 - pydantic reads annotations at run time
from autopilot.schemas.records import EpochMs, Record
from autopilot.schemas.units import MS_PER_S, format_duration

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.checkup.scene import Scene

FOLDER = "checkup"
_MAX_BYTES = 256 * 1024


class Remembered(Record):
    """Lines, what they were about, and when they were found."""

    remembered_version: Literal[1] = 1
    name: str
    about: str = Field(description="what they hold for: a commit, a version; another one must be asked anew")
    at_ms: EpochMs
    lines: tuple[Check, ...]


def place(scene: Scene) -> Path:
    """Give the folder; it is made when it is missing.

    Raises:
        OSError: it cannot be made.
    """
    folder = scene.paths.state / FOLDER
    make_folder(folder, mode=PRIVATE_DIR_MODE)
    return folder


def recall(scene: Scene, name: str, *, about: str, fresh_ms: int | None = None) -> tuple[Check, ...]:
    """Give what is remembered of this, each line with its age; nothing where it must be asked anew.

    A clock that was set back does not make anything last longer. A NO-GO is never taken from memory when a
    person asks: it may have been mended.
    """
    found = look(scene, name)
    if found is None or found.about != about or scene.is_fresh:
        return ()
    if any(line.blocks for line in found.lines):
        return ()
    age_ms = scene.clock.now_ms() - found.at_ms
    most_ms = round(scene.settings.checkup.fresh_s * MS_PER_S) if fresh_ms is None else fresh_ms
    return aged(found, age_ms) if 0 <= age_ms < most_ms else ()


def look(scene: Scene, name: str) -> Remembered | None:
    """Give what is remembered, however old."""
    try:
        return Remembered.model_validate_json(read_plain(_file(scene, name), max_bytes=_MAX_BYTES))
    except (UnreadableError, ValidationError):
        return None


def aged(found: Remembered, age_ms: int) -> tuple[Check, ...]:
    """Give its lines; each says how old it is."""
    told = f" (found {format_duration(age_ms / MS_PER_S)} ago)"
    return tuple(line.model_copy(update={"evidence": line.evidence + told}) for line in found.lines)


def keep(scene: Scene, name: str, lines: tuple[Check, ...], *, about: str) -> tuple[Check, ...]:
    """Remember lines, and give them back."""
    kept = Remembered(name=name, about=about, at_ms=scene.clock.now_ms(), lines=lines)
    try:
        place(scene)
        write_atomically(_file(scene, name), kept.model_dump_json(indent=1).encode())
    except OSError:
        return lines  # then it is found out again
    return lines


def _file(scene: Scene, name: str) -> Path:
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", name)[:40]
    return scene.paths.state / FOLDER / f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.json"
