"""Takes a line of bash apart into plain commands, or refuses it.

Accepts a small subset of the grammar whose meaning is certain, and gives exactly the words that bash would
pass on. Must not guess: what is not surely one of the accepted shapes is refused, and nothing is expanded.
Source: bash(1), QUOTING, REDIRECTION, EXPANSION; measured against bash 5.2 by `tests/fuzz`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from autopilot.runner.guard.grammar import (
    ASSIGNMENT,
    ASSIGNMENT_LIKE,
    BLANK,
    HEREDOC,
    HIDDEN,
    MAX_BYTES,
    MAX_COMMANDS,
    Redirect,
    Simple,
    Word,
    refusal,
)
from autopilot.runner.guard.wording import read_word

_REDIRECT = re.compile(r">>|>&(?=[0-9])|[<>](?![<>&|(])")


class _Draft(NamedTuple):
    """A command while it is read."""

    assignments: list[tuple[str, str]]
    argv: list[Word]
    redirects: list[Redirect]
    heredocs: list[str]

    @property
    def is_empty(self) -> bool:
        return not (self.assignments or self.argv or self.redirects or self.heredocs)


def parse(text: str) -> tuple[Simple, ...]:
    """Take a command line apart.

    Raises:
        Refused: it is outside the subset; the reason names the accepted form.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise refusal("too-long")
    for char in text:
        if (char < " " and char not in "\t\n") or char == "\x7f":
            raise refusal("control-character")
        if char > "~" and unicodedata.category(char) in HIDDEN:
            raise refusal("hidden-character")
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._draft = _Draft([], [], [], [])
        self._done: list[Simple] = []
        self._joined_by = ""
        self._awaited: str | None = None

    def read(self) -> tuple[Simple, ...]:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        if self._awaited is not None:
            raise refusal("heredoc-open")
        if not self._draft.is_empty:
            self._close("\n", 0)
        elif self._joined_by in {"&&", "||", "|"} or not self._done:
            raise refusal("no-command")
        return tuple(self._done)

    def _step(self, char: str) -> None:
        if char in BLANK:
            self._at += 1
        elif self._text.startswith("\\\n", self._at):
            self._continue_line()
        elif char == "#":
            self._comment()
        elif char == "\n":
            self._newline()
        elif char == ";":
            self._close(";", 1)
        elif char in "&|":
            self._join(char)
        elif char in "<>":
            self._redirect("")
        else:
            self._word_or_descriptor()

    def _continue_line(self) -> None:
        if self._awaited is not None:
            raise refusal("heredoc-line")
        self._at += 2

    def _comment(self) -> None:
        end = self._text.find("\n", self._at)
        comment = self._text[self._at : end if end >= 0 else len(self._text)]
        if not comment.isascii():
            raise refusal("not-ascii")
        self._at += len(comment)

    def _join(self, char: str) -> None:
        if self._text.startswith(char * 2, self._at):
            self._close(char * 2, 2)
        elif char == "|":
            self._close("|", 1)
        else:
            raise refusal("background")

    def _newline(self) -> None:
        self._at += 1
        if self._awaited is not None:
            self._heredoc_body(self._awaited)
        if not self._draft.is_empty:
            self._close("\n", 0)

    def _heredoc_body(self, delimiter: str) -> None:
        lines = self._text[self._at :].split("\n")
        if delimiter not in lines:
            raise refusal("heredoc-open")
        body = lines[: lines.index(delimiter)]
        taken = sum(len(line) + 1 for line in body) + len(delimiter)
        self._at = min(self._at + taken + 1, len(self._text))
        text = "".join(f"{line}\n" for line in body)
        holder = self._draft if self._draft.heredocs else None
        if holder is not None:
            holder.heredocs[0] = text
        else:
            index = next(i for i in reversed(range(len(self._done))) if self._done[i].heredoc is not None)
            self._done[index] = self._done[index]._replace(heredoc=text)
        self._awaited = None

    def _close(self, joint: str, length: int) -> None:
        draft = self._draft
        if not draft.argv:
            raise refusal("bare-assignment" if draft.assignments else "no-command")
        heredoc = draft.heredocs[0] if draft.heredocs else None
        self._done.append(
            Simple(
                tuple(draft.assignments),
                tuple(draft.argv),
                tuple(draft.redirects),
                heredoc,
                self._joined_by,
                joint,
            )
        )
        if len(self._done) > MAX_COMMANDS:
            raise refusal("too-many-commands")
        self._draft = _Draft([], [], [], [])
        self._joined_by = joint
        self._at += length

    # --- redirects -----------------------------------------------------------------------------

    def _redirect(self, descriptor: str) -> None:
        if self._text.startswith("<<", self._at):
            self._heredoc(descriptor)
            return
        found = _REDIRECT.match(self._text, self._at)
        if found is None or descriptor not in ({"", "0"} if found[0] == "<" else {"", "1", "2"}):
            raise refusal("redirect")
        self._at = found.end()
        if found[0] == ">&":
            self._duplicate()
            return
        self._skip_blanks()
        target, raw = self._word() if self._at < len(self._text) else (None, "")
        if target is None or not target.text or target.pattern is not None or target.is_computed:
            raise refusal("redirect")
        if raw.isdigit() and self._text[self._at : self._at + 1] in {"<", ">"}:
            raise refusal("redirect")
        self._draft.redirects.append(Redirect(found[0], target))

    def _duplicate(self) -> None:
        target, after = self._text[self._at], self._text[self._at + 1 : self._at + 2]
        if target not in "12" or (after and after not in " \t\n;|"):
            raise refusal("redirect")
        self._at += 1

    def _heredoc(self, descriptor: str) -> None:
        found = HEREDOC.match(self._text, self._at)
        if found is None or descriptor not in {"", "0"}:
            raise refusal("heredoc")
        if self._awaited is not None or self._draft.heredocs:
            raise refusal("heredoc-line")
        self._at = found.end()
        self._awaited = found[1]
        self._draft.heredocs.append("")

    def _skip_blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in BLANK:
            self._at += 1

    def _word_or_descriptor(self) -> None:
        word, raw = self._word()
        if raw.isdigit() and self._text[self._at : self._at + 1] in {"<", ">"}:
            if len(raw) > 1:
                raise refusal("redirect")
            self._redirect(raw)
            return
        if not self._draft.argv:
            assigned = ASSIGNMENT.match(raw)
            if assigned is not None:
                if word.pattern is not None or word.is_computed:
                    raise refusal("assignment")
                name = assigned[1]
                self._draft.assignments.append((name, word.text[len(name) + 1 :]))
                return
            if ASSIGNMENT_LIKE.match(raw):
                raise refusal("assignment")
            if word.pattern is not None or word.is_computed or raw.startswith("!"):
                raise refusal("computed-command")
        self._draft.argv.append(word)

    def _word(self) -> tuple[Word, str]:
        """Read one word: what bash makes of it, and how it was written."""
        start = self._at
        word, self._at = read_word(self._text, start)
        raw = self._text[start : self._at]
        if "\n" in raw and self._awaited is not None:
            raise refusal("heredoc-line")
        return word, raw
