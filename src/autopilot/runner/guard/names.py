"""Names and patterns: whether a path is, or a wildcard could become, a name that is not to be touched.

Must not look at a disk.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import ANY, ONE

if TYPE_CHECKING:
    from collections.abc import Iterable

Parts = tuple[str, ...]
_FILLINGS = ("", "x", "b", "s", "-dev", "-test", ".kts", ".local")
_ANY_RUN = re.compile(f"[{ANY}{ONE}]+")


def fold(text: str) -> str:
    """Give the form in which two names of one file are equal, on a disk that ignores case too."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


class Names:
    """A set of patterns: `*` is part of a name, `**` all below a folder. Each counts at any depth."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = tuple(sorted({_parts(fold(pattern)) for pattern in patterns}))
        shapes = "|".join("/".join(map(_shape, pattern)) for pattern in self._patterns)
        self._regex = re.compile(rf"(?:^|/)(?:{shapes})(?:/|$)")

    def has(self, parts: Parts, *, is_lenient: bool = False) -> bool:
        """Whether a path is named, or lies in a folder that is; the path may hold wildcards.

        Lenient: a wildcard that begins a name stands for some name, not for each that it could become.
        """
        path = "/".join(parts)
        if ANY not in path and ONE not in path:
            return self._regex.search(path) is not None
        if is_lenient:
            parts = tuple(_ANY_RUN.sub("x", part) if part[:1] in {ANY, ONE} else part for part in parts)
        starts = range(len(parts))
        return any(_begins(pattern, parts[start:]) for pattern in self._patterns for start in starts)

    def may_lie_in(self, parts: Parts) -> bool:
        """Whether a folder is the beginning of a name, so that what is named lies in it."""
        return not parts or any(
            _begins(pattern[:length], parts[-length:])
            for pattern in self._patterns
            for length in range(1, len(pattern))
        )


def _parts(pattern: str) -> Parts:
    return tuple(part for part in pattern.split("/") if part and part != "**")


def _shape(part: str) -> str:
    return re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def _begins(pattern: Parts, parts: Parts) -> bool:
    return len(pattern) <= len(parts) and all(map(_may_be, pattern, parts))


def _may_be(pattern: str, part: str) -> bool:
    """Whether a name with wildcards could become what a pattern means.

    Two wildcards always have some name in common (`bun.lock*` and `*.log`: bun.lock.log), so a pattern stands
    for its likely names, and for all of them only where both begin with the same letters.
    """
    if not part.startswith((ANY, ONE)) and pattern[:1] not in {part[:1], "*", "?"}:
        return False
    if ANY not in part and ONE not in part and "*" not in pattern:
        return pattern == part
    if any(may_meet(pattern.replace("*", filling), part) for filling in _FILLINGS):
        return True
    beginnings = pattern.partition("*")[0], _ANY_RUN.split(part)[0]
    return all(beginnings) and may_meet(pattern.replace("*", ANY), part)


def may_meet(one: str, other: str) -> bool:
    """Whether some file name matches both, each of which may hold marked wildcards."""
    if other.startswith((ANY, ONE)) and one.startswith("."):
        return False  # a wildcard at the beginning of a name does not stand for a dot: bash(1), dotglob
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
