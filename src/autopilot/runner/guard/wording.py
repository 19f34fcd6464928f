"""Reads one word of a command line: quoting, escapes and wildcards.

Must not expand anything: a word whose text is not certain is refused.
Source: bash(1), QUOTING and PATHNAME EXPANSION.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import (
    ANY,
    BRACED,
    END_OF_WORD,
    ESCAPABLE,
    NIL,
    NOT_PLAIN,
    ONE,
    PLAIN,
    Word,
    refusal,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

# A bracket is a wildcard only where its partner follows, so it waits with a second character behind it.
_MARKS: Mapping[str, str] = {"*": ANY, "?": ONE, "[": "[\0", "]": "]\0"}

# Behind `$` in double quotes these begin no expansion: it stands for itself. Source: bash(1), EXPANSION.
_ENDS_NO_NAME = frozenset('" |)/.,%:;&=')
# A shell that keeps a history puts an earlier line there. Source: bash(1), HISTORY EXPANSION.
_EVENT = re.compile(r"!(?:[!?#]|-?[0-9])")


def read_word(text: str, start: int) -> tuple[Word, int]:
    """Read the word that begins at a place, and say where it ends.

    Raises:
        Refused: it is not certain what bash makes of it.
    """
    reader = _WordReader(text, start)
    word = reader.read()
    return word, reader.at


class _WordReader:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self.at = start

    def read(self) -> Word:
        text: list[str] = []
        wild: list[str] = []
        is_computed = False
        while self.at < len(self._text) and (char := self._text[self.at]) not in END_OF_WORD:
            if char in _MARKS:
                text.append(char)
                wild.append(_MARKS[char])
                self.at += 1
                continue
            piece, computed = self._piece(char, self._text[self._start : self.at])
            is_computed |= computed
            text.extend(piece)
            wild.extend(piece)
        if self.at == self._start:
            raise refusal("character")
        return Word("".join(text), _pattern(wild), is_computed)

    def _piece(self, char: str, before: str) -> tuple[str, bool]:
        if char == "!" and not before and _EVENT.match(self._text, self.at):
            raise refusal("history")
        if char in PLAIN or (char == "#" and before) or char == "!":
            self.at += 1
            return char, False
        if char == "~" and before and (before[-1].isalnum() or before[-1] in "^}@"):
            self.at += 1
            return char, False
        if char == "'":
            return self._single_quoted(), False
        if char == '"':
            return self._double_quoted()
        if char == "\\":
            return self._escaped(), False
        if char == "{":
            return self._braces(before), False
        if self._text.startswith("$?", self.at):
            self.at += 2
            return "0", True
        raise refusal("not-ascii" if char > "~" else NOT_PLAIN.get(char, "character"))

    def _single_quoted(self) -> str:
        end = self._text.find("'", self.at + 1)
        if end < 0:
            raise refusal("quote-open")
        inside = self._text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _double_quoted(self) -> tuple[str, bool]:
        inside: list[str] = []
        is_computed = False
        self.at += 1
        while self.at < len(self._text):
            char = self._text[self.at]
            follows = self._text[self.at + 1 : self.at + 2]
            if char == '"':
                self.at += 1
                return "".join(inside), is_computed
            if char == "\\" and follows in {'"', "\\", "$", "`"}:
                inside.append(follows)
                self.at += 2
            elif char == "\\" and follows == "\n":
                raise refusal("line-in-word")
            elif char == "$" and follows == "?":
                inside.append("0")
                is_computed = True
                self.at += 2
            elif char == "$" and follows and follows in _ENDS_NO_NAME:
                inside.append(char)
                self.at += 1
            elif char in "$`":
                raise refusal("substitution" if char == "`" or follows == "(" else "expansion")
            else:
                inside.append(char)
                self.at += 1
        raise refusal("quote-open")

    def _escaped(self) -> str:
        follows = self._text[self.at + 1 : self.at + 2]
        if follows not in ESCAPABLE or not follows:
            raise refusal("line-in-word" if follows == "\n" else "escape")
        self.at += 2
        return follows

    def _braces(self, before: str) -> str:
        found = BRACED.match(self._text, self.at)
        is_revision = before[-1:] in {"@", "^"} and found is not None
        if self._text.startswith("{}", self.at) and not before:
            self.at += 2
            return "{}"
        if found is None or not is_revision:
            raise refusal("brace")
        self.at = found.end()
        return found[0]


def _pattern(wild: list[str]) -> str | None:
    """Give the word with its wildcards marked, as long as the word itself; None when it has none."""
    marked = list(wild)
    index = 0
    while index < len(wild):
        if wild[index] != "[\0":
            index += 1
            continue
        end = _end_of_set(wild, index)
        if end is not None:  # one letter of a set, or the name of a route: [slug]
            marked[index : end + 1] = [ONE, *[NIL] * (end - index)]
        elif "]\0" in wild[index:]:  # it is not certain where the set ends
            end = len(wild) - 1 - wild[::-1].index("]\0")
            marked[index : end + 1] = [ANY] * (end + 1 - index)
        else:
            end = index
        index = end + 1
    flat = "".join(part[0] for part in marked)
    return flat if ANY in flat or ONE in flat else None


def _end_of_set(wild: list[str], start: int) -> int | None:
    """Find the bracket that ends a plain set of letters, such as [a-z] or [!x]."""
    for index in range(start + 1, len(wild)):
        part = wild[index]
        if part == "]\0":
            letters = wild[start + 1 : index]
            return index if letters and letters not in (["!"], ["^"]) else None
        if len(part) != 1 or not (part.isalnum() or part in "_-.!^"):
            return None
    return None
