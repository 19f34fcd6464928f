"""The terminal: the only module that prints. Plain text in a pipe, colour on a terminal, JSON on request.

Must not decide anything. Text that came from a ticket, an agent or a forge is cleaned of control characters
before it reaches a terminal.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from autopilot.schemas.errors import AutopilotError, ExitCode

_HARMLESS = frozenset("\n\t")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def clean(text: str) -> str:
    r"""Make control, bidi and invisible characters visible as `\u{…}`, so that no text drives a terminal."""
    return "".join(
        char if char in _HARMLESS or unicodedata.category(char) not in _HIDDEN else f"\\u{{{ord(char):x}}}"
        for char in text
    )


def say(text: str = "") -> None:
    """Print a line for a person."""
    print(clean(text))


def say_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON document: the same bytes from the daemon and without it."""
    print(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False))


def complain(text: str) -> None:
    """Print a line on standard error."""
    print(clean(f"autopilot: {text}"), file=sys.stderr)


def refuse(error: AutopilotError, *, as_json: bool) -> ExitCode:
    """Say what went wrong and how to mend it; give the error's exit code."""
    if as_json:
        say_json({"error": {"code": error.code, "what": error.what, "hint": error.hint}})
    else:
        complain(error.what)
        if error.hint:
            print(clean(f"  → {error.hint}"), file=sys.stderr)
    return error.exit_code


def is_terminal() -> bool:
    """Tell whether a person is looking."""
    return sys.stdout.isatty()


def table(rows: Iterable[Sequence[str]], *, header: Sequence[str]) -> None:
    """Print aligned columns; on a terminal through rich, in a pipe tab-free plain text."""
    cells = [[clean(cell).replace("\n", " ") for cell in row] for row in rows]
    if is_terminal():
        _rich_table(cells, header)
        return
    widths = [max(len(row[column]) for row in [list(header), *cells]) for column in range(len(header))]
    for row in [list(header), *cells]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _rich_table(cells: Sequence[Sequence[str]], header: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawing = Table(*header, box=None, pad_edge=False, header_style="bold")
    for row in cells:
        drawing.add_row(*(Text(cell) for cell in row))
    Console().print(drawing)


def markdown(text: str) -> None:
    """Print Markdown: rendered on a terminal, as it is in a pipe."""
    if not is_terminal():
        say(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(clean(text)))


def say_raw(text: str) -> None:
    """Print text of our own making as it is, e.g. a script for a shell."""
    print(text)


def say_json_line(value: Mapping[str, Any]) -> None:
    """Print one JSON document on one line."""
    print(json.dumps(value, sort_keys=True, ensure_ascii=False))


def diff(text: str) -> None:
    """Print a diff: coloured on a terminal, plain in a pipe."""
    if not is_terminal():
        say(text.rstrip("\n"))
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(clean(text), "diff", theme="ansi_dark", background_color="default"))
