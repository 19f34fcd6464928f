"""Reads what the daemon and the run wrote, and writes the verdict or the report.

Must not interpret them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from autopilot.config.atomic import make_folder, write_atomically
from autopilot.config.room import once_there_is_room
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.publication import PublishRequest
from autopilot.schemas.records import Record, faults_of

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.schemas.publication import PublishVerdict

Spec = TypeVar("Spec", bound=Record)
MAX_REQUEST_BYTES = 4 * 1024 * 1024


def read_spec(kind: type[Spec], path: Path) -> Spec:
    """Read our instruction, of whichever kind.

    Raises:
        ConfigError: it is missing or broken; without it there is nowhere to write an answer to.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as exc:
        hint = "the daemon writes it; a publisher is not started by hand"
        raise ConfigError("publish-spec-unreadable", f"cannot read {path}: {_brief(exc)}", hint=hint) from exc


def read_request(path: Path) -> tuple[PublishRequest | None, str]:
    """Read the run's claims: the request, or None and what is wrong with it."""
    try:
        if path.stat().st_size > MAX_REQUEST_BYTES:
            return None, f"the request is larger than {MAX_REQUEST_BYTES:,} bytes"
        return PublishRequest.model_validate_json(path.read_bytes()), ""
    except (OSError, ValidationError) as exc:
        return None, f"the request cannot be read: {_brief(exc)}"


def write_verdict(path: Path, verdict: PublishVerdict) -> None:
    """Put the verdict in place as a whole. A full disk is waited out.

    Raises:
        OSError: it could not be written, and not for want of room.
    """
    make_folder(path.parent)
    content = (verdict.model_dump_json(indent=1) + "\n").encode()
    once_there_is_room(lambda: write_atomically(path, content))


def write_report(path: Path, report: Record) -> None:
    """Put the report in place as a whole.

    Raises:
        OSError: it could not be written.
    """
    write_atomically(path, (report.model_dump_json(indent=1) + "\n").encode())


def _brief(exc: OSError | ValidationError) -> str:
    """Say what is wrong without repeating the content."""
    if isinstance(exc, OSError):
        return exc.strerror or type(exc).__name__
    return "; ".join(faults_of(exc, whole="file")[:3])
