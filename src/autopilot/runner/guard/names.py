"""Names and patterns: whether a path is, or a wildcard could become, a name that is not to be touched.

Must not look at a disk.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from autopilot.runner.guard.grammar import ANY, ONE

if TYPE_CHECKING:
    from collections.abc import Iterable

Parts = tuple[str, ...]
_FILLINGS = ("", "x", "b", "s", "-dev", "-test", ".kts", ".local")
_ANY_RUN = re.compile(f"[{ANY}{ONE}]+")


def fold(text: str) -> str:
    """Give the form in which two names of one file are equal, on a disk that ignores case too."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


class _Piece(NamedTuple):
    """One folder or file of a pattern.

    Two wildcards always have some name in common (`bun.lock*` and `*.log`: bun.lock.log). So against a path
    with wildcards a pattern stands for its likely names; for all of them where both begin with one letter.
    """

    likely: tuple[str, ...]
    beginning: str
    marked: str | None

    def may_be(self, part: str) -> bool:
        """Whether a part of a path, which may have wildcards, could become it."""
        if ANY not in part and ONE not in part:
            return part in self.likely or (self.marked is not None and may_meet(self.marked, part))
        if any(may_meet(name, part) for name in self.likely):
            return True
        is_open = part.startswith((ANY, ONE))
        return bool(self.marked and self.beginning) and not is_open and may_meet(self.marked or "", part)


class Names:
    """A set of patterns: `*` is part of a name, `**` all below a folder. Each counts at any depth."""

    def __init__(self, patterns: Iterable[str]) -> None:
        split = sorted({_parts(fold(pattern)) for pattern in patterns})
        self._patterns = tuple(tuple(map(_piece, pattern)) for pattern in split)
        shapes = "|".join("/".join(map(_shape, pattern)) for pattern in split)
        self._regex = re.compile(rf"(?:^|/)(?:{shapes})(?:/|$)")

    def has(self, parts: Parts, *, is_lenient: bool = False) -> bool:
        """Whether a path is named, or lies in a folder that is; the path may hold wildcards.

        Lenient: a wildcard that begins a name stands for some name, not for each that it could become.
        """
        if is_lenient:
            parts = tuple(_ANY_RUN.sub("x", part) if part[:1] in {ANY, ONE} else part for part in parts)
        path = "/".join(parts)
        if ANY not in path and ONE not in path:
            return self._regex.search(path) is not None
        return any(
            _begins(pattern, parts[start:]) for start in range(len(parts)) for pattern in self._patterns
        )

    def may_lie_in(self, parts: Parts) -> bool:
        """Whether a folder is the beginning of a name, so that what is named lies in it."""
        return not parts or any(
            _begins(pattern[:length], parts[-length:])
            for pattern in self._patterns
            for length in range(1, len(pattern))
        )


def _parts(pattern: str) -> Parts:
    return tuple(part for part in pattern.split("/") if part and part != "**")


def _piece(part: str) -> _Piece:
    if "*" not in part and "?" not in part:
        return _Piece((part,), part, None)
    likely = dict.fromkeys(part.replace("*", filling).replace("?", "x") for filling in _FILLINGS)
    return _Piece(tuple(likely), part.partition("*")[0], part.replace("*", ANY).replace("?", ONE))


def _shape(part: str) -> str:
    return re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def is_wild(text: str) -> bool:
    """Whether a text holds a marked wildcard."""
    return ANY in text or ONE in text


def is_one_of(name: str, patterns: Iterable[str]) -> bool:
    """Whether the name of a file is, or may become, one of these, of which some begin with `*`."""
    folded = fold(name)
    if is_wild(folded):
        return any(may_meet(each.replace("*", ANY), folded) for each in patterns)
    return any(folded.endswith(each[1:]) if each[0] == "*" else folded == each for each in patterns)


def covers(written: str, path: str) -> bool:
    """Whether a path is, or may be, what was written: a name with wildcards; with `/`, all below it."""
    names, parts = written.rstrip("/").split("/"), path.split("/")
    if len(parts) < len(names) or (len(parts) > len(names) and not written.endswith("/")):
        return False
    return all(name == part or may_meet(part, name) for name, part in zip(names, parts, strict=False))


def _begins(pattern: tuple[_Piece, ...], parts: Parts) -> bool:
    return len(pattern) <= len(parts) and all(
        piece.may_be(part) for piece, part in zip(pattern, parts, strict=False)
    )


def may_meet(one: str, other: str) -> bool:
    """Whether some file name matches both, each of which may hold marked wildcards."""
    if other.startswith((ANY, ONE)) and one.startswith("."):
        return False  # a wildcard at the beginning of a name does not stand for a dot: bash(1), dotglob
    beginnings = one[:1] + other[:1]
    if len(beginnings) == 2 and beginnings[0] != beginnings[1] and not {ANY, ONE} & set(beginnings):  # noqa: PLR2004
        return False
    reached = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        i, j = waiting.pop()
        left, right = one[i : i + 1], other[j : j + 1]
        steps = []
        if ANY in {left, right}:
            steps = [(i + 1, j)] if left else []
            steps += [(i, j + 1)] if right else []
        elif left and right and (left == right or ONE in {left, right}):
            steps = [(i + 1, j + 1)]
        for step in steps:
            if step not in reached:
                reached.add(step)
                waiting.append(step)
    return (len(one), len(other)) in reached
