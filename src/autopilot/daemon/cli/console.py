"""The terminal: the only module that prints. Plain text in a pipe, colour on a terminal, JSON on request.

Must not decide anything. Text that came from a ticket, an agent or a forge is cleaned of control characters
before it reaches a terminal.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from rich.console import Console, RenderableType

    from autopilot.schemas.errors import AutopilotError, ExitCode

_HARMLESS = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def clean(text: str) -> str:
    r"""Make control, bidi and invisible characters visible as `\u{…}`, so that no text drives a terminal."""
    if _is_plain_ascii(text):
        return text
    return "".join(f"\\u{{{ord(char):x}}}" if _is_hidden(char) else char for char in text)


def line(text: str) -> str:
    """Clean a text that must stay on its line, so that it cannot pretend to be the next one."""
    return clean(" ".join(text.split()))


def _is_plain_ascii(text: str) -> bool:
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


def _is_hidden(char: str) -> bool:
    return char not in _HARMLESS and unicodedata.category(char) in _HIDDEN


def say(text: str = "") -> None:
    """Print a line for a person."""
    print(clean(text))


def say_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON document: the same bytes from the daemon and without it, whatever the locale."""
    _write(_json(value, indent=2))


def say_json_line(value: Mapping[str, Any]) -> None:
    """Print one JSON document on one line."""
    _write(_json(value, indent=None))


def say_raw(text: str) -> None:
    """Print text of our own making as it is, e.g. a script for a shell."""
    print(text)


def _json(value: Mapping[str, Any] | Sequence[Any], *, indent: int | None) -> str:
    """Write JSON in which no character drives a terminal; outside of strings, JSON has none that could."""
    text = json.dumps(value, indent=indent, sort_keys=True, ensure_ascii=False)
    if _is_plain_ascii(text):
        return text
    return "".join(json.dumps(char)[1:-1] if _is_hidden(char) else char for char in text)


def _write(text: str) -> None:
    """Print in UTF-8 even where the locale has another encoding (RFC 8259, section 8.1)."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(f"{text}\n".encode())


def flush() -> None:
    """Let a reader at the other end of a pipe see what was printed so far."""
    if sys.stdout is not None:
        sys.stdout.flush()


def complain(text: str) -> None:
    """Print a line on standard error."""
    _complain(f"autopilot: {text}")


def _complain(text: str) -> None:
    """Print on standard error; where that is closed or full, the exit code has to say it alone."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(clean(text), file=sys.stderr)


def refuse(error: AutopilotError, *, as_json: bool) -> ExitCode:
    """Say what went wrong and how to mend it; give the error's exit code."""
    if as_json:
        say_json({"error": {**as_fields(error), "exit": int(error.exit_code)}})
    else:
        complain(error.what)
        if error.hint:
            _complain(f"  → {error.hint}")
    return error.exit_code


def as_fields(error: AutopilotError) -> dict[str, str]:
    """Give an error as plain values."""
    return {"code": error.code, "what": error.what, "hint": error.hint}


def is_terminal() -> bool:
    """Tell whether a person is looking."""
    return sys.stdout is not None and sys.stdout.isatty()


def table(rows: Iterable[Sequence[str]], *, header: Sequence[str]) -> None:
    """Print aligned columns; on a terminal through rich, in a pipe plain text without tabs."""
    cells = [[line(cell) for cell in row] for row in rows]
    if is_terminal():
        _rich_table(cells, header)
        return
    widths = [max(len(row[column]) for row in [list(header), *cells]) for column in range(len(header))]
    for row in [list(header), *cells]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _rich_table(cells: Sequence[Sequence[str]], header: Sequence[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    drawing = Table(*header, box=None, pad_edge=False, header_style="bold")
    for row in cells:
        drawing.add_row(*(Text(cell) for cell in row))
    show(drawing)


def markdown(text: str) -> None:
    """Print Markdown: rendered on a terminal, as it is in a pipe."""
    if not is_terminal():
        say(text.rstrip("\n"))
        return
    from rich.markdown import Markdown

    show(Markdown(clean(text), hyperlinks=False))


def diff(text: str) -> None:
    """Print a diff: coloured on a terminal, plain in a pipe."""
    if not is_terminal():
        say(text.rstrip("\n"))
        return
    from rich.syntax import Syntax

    show(Syntax(clean(text), "diff", theme="ansi_dark", background_color="default"))


def show(drawing: RenderableType) -> None:
    """Print what rich draws."""
    rich_console().print(drawing)


def rich_console() -> Console:
    """Make the console that draws: text stands as it is, no markup and no emoji codes in it."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Keep one line at the foot of the terminal that a caller may change; nothing in a pipe."""
    if not is_terminal():
        yield lambda _: None
        return
    from rich.text import Text

    with rich_console().status(Text("")) as status:
        yield lambda text: status.update(Text(line(text)))
