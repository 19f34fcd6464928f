"""Text that a person gives in a file or on standard input. Must not be larger than a ticket can be."""

from __future__ import annotations

import sys

from autopilot.schemas.errors import TicketError

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1_000_000
STDIN = "-"


def file(path: Path) -> str:
    """Read a text file; `-` is standard input.

    Raises:
        TicketError: it cannot be read, is too large, or is not UTF-8.
    """
    if str(path) == STDIN:
        return stdin()
    try:
        with path.open("rb") as handle:
            return _decode(handle.read(MAX_BYTES + 1), str(path))
    except OSError as exc:
        what = f"cannot read {path}: {exc.strerror}"
        raise TicketError("file-unreadable", what, hint="check the path") from exc


def stdin() -> str:
    """Read standard input to its end.

    Raises:
        TicketError: it is closed, too large, or not UTF-8.
    """
    if sys.stdin is None:
        raise TicketError("no-text", "standard input is closed", hint="pipe the text in, or use --file")
    return _decode(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input")


def _decode(data: bytes, where: str) -> str:
    if len(data) > MAX_BYTES:
        raise TicketError("file-too-large", f"{where} holds more than {MAX_BYTES} bytes", hint="shorten it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        what = f"{where} is not UTF-8 at byte {exc.start}"
        raise TicketError("file-not-utf8", what, hint="save it as UTF-8") from exc
