"""Paths as the tools of agents take them: not a shell's words, and not always what the system is given.

Clients trim such a path, put a home in place of `~`, and normalise its letters; some disks drop a character
at the end of a name, or one that is not shown. Must not guess: what two readers could read differently is
refused.
Source: git-config(1), core.protectHFS and core.protectNTFS.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import HIDDEN, Word
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

# `$HOME`, `${HOME}`, `%HOME%`; a route may well be called `$id.tsx`.
_VARIABLE = re.compile(r"\$\{?[A-Z_][A-Z0-9_]*\}?|%[A-Za-z_]+%")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MAX_BRACES = 3
_SHOWN = 80


def tool_path(text: str, *, is_pattern: bool = False) -> Word:
    """Take a path that a tool was given.

    Raises:
        Refused: the tool, or the disk, may take it for another one.
    """
    parts = text.split("/")
    odd = (
        "\\" in text
        or text.startswith("~")
        or any(unicodedata.category(char) in HIDDEN for char in text)
        or any(_is_odd(part) for part in parts)
        or _VARIABLE.fullmatch(parts[0])
        or (is_pattern and "{" in text and (".." in text or "/" in text.partition("{")[2].partition("}")[0]))
    )
    if odd:
        raise Refused("path-form", f"{text[:_SHOWN]!r}: give the path as it is, from / or from the worktree")
    return Word(text)


def alternatives(text: str) -> Iterator[str]:
    """Give the patterns that one with braces stands for: `*.{pem,key}` is two.

    Raises:
        Refused: it has too many braces to look at each.
    """
    if text.count("{") > _MAX_BRACES:
        raise Refused("path-form", f"{text[:_SHOWN]!r}: too many braces; name the files in several calls")
    found = _BRACES.search(text)
    if found is None:
        yield text
        return
    for each in found[1].split(","):
        yield from alternatives(text[: found.start()] + each + text[found.end() :])


def _is_odd(part: str) -> bool:
    if part in {"", ".", ".."}:
        return False
    return (
        part != part.strip() or part.endswith(".") or "::$" in part or (part[0] == "." and not part.isascii())
    )
