"""The accepted subset of bash: its characters, its values, and why the rest is refused.

Must not read or judge a command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 8192
MAX_COMMANDS = 40
# Marks of wildcards in a pattern; no command holds these characters.
ANY, ONE, NIL = "\x01", "\x02", "\x03"
"""Any text, one letter, and a place that stands for nothing: the rest of `[abc]` behind its mark."""
BLANK = " \t"
PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./^-")
END_OF_WORD = frozenset(" \t\n;|&<>")
ESCAPABLE = frozenset(map(chr, range(ord(" "), ord("~") + 1)))
# Control, format (zero-width, bidi, tags), private, surrogate, unassigned, line and paragraph separators.
HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
ASSIGNMENT_LIKE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\+=|\[)")
# `HEAD@{1}`, `@{upstream}`, `HEAD^{commit}`: no comma and no dots, so bash leaves them alone.
BRACED = re.compile(r"\{-?[A-Za-z0-9]+\}")
HEREDOC = re.compile(r"<<[ \t]*'([A-Za-z0-9_]+)'(?=[ \t\n;|&]|$)")


class Word(NamedTuple):
    """A word as the program gets it."""

    text: str
    pattern: str | None = None
    """The text with its wildcards marked, if bash would expand it."""
    is_computed: bool = False
    """It holds `$?`."""

    def tail(self, start: int) -> Word:
        """Give what follows the first `start` characters."""
        pattern = None if self.pattern is None else self.pattern[start:]
        is_wild = pattern is not None and (ANY in pattern or ONE in pattern)
        return Word(self.text[start:], pattern if is_wild else None, self.is_computed)


class Redirect(NamedTuple):
    """`<`, `>` or `>>` and the file; joining two descriptors needs no judgement and is left out."""

    kind: str
    target: Word


class Simple(NamedTuple):
    """One plain command."""

    assignments: tuple[tuple[str, str], ...]
    argv: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    heredoc: str | None
    before: str
    """What joins it to the one before: `;`, `&&`, `||`, `|`, a newline, or nothing."""
    after: str


NOT_PLAIN: Mapping[str, str] = {"$": "expansion", "`": "substitution", "(": "subshell", ")": "subshell"}
_REASONS: Mapping[str, str] = {
    "too-long": f"a command of more than {MAX_BYTES} bytes is not examined; long text goes into a file "
    "with the Write tool",
    "too-many-commands": f"more than {MAX_COMMANDS} commands in one line; send them in several calls",
    "control-character": "a control character is in the command; write plain text",
    "hidden-character": "an invisible character is in the command; write plain text",
    "not-ascii": "a character outside ASCII stands unquoted; put the word into '...'",
    "heredoc": "this here-document expands or is not understood; write <<'EOF', quoted, with EOF alone on "
    "the "
    "last line",
    "heredoc-open": "the here-document does not end; its delimiter must stand alone on the last line",
    "heredoc-line": "one here-document for one line, and no quoted or continued line before its text",
    "no-command": "a command is missing beside an operator",
    "bare-assignment": "a variable on its own is not set; write the value where it is used",
    "assignment": "this assignment is not understood; write NAME=value in front of one command",
    "background": "nothing runs in the background; run it in the foreground, e.g. timeout 60 COMMAND",
    "redirect": "accepted redirects are > FILE, >> FILE, < FILE, 2> FILE, 2>&1, with a literal file name",
    "computed-command": "the name of a command must be written out",
    "character": "a character with a special meaning stands unquoted; put the word into '...'",
    "expansion": "nothing is expanded; write the value itself, or '...' around a literal $",
    "substitution": "nothing is substituted; run the inner command by itself and use what it printed. A "
    "commit message goes into git commit -F - <<'EOF'",
    "subshell": "no subshells, functions or groups; join plain commands by && or ;",
    "history": "no line of the history is called back; write the command out",
    "quote-open": "a quote is not closed",
    "escape": "a backslash stands before one printable ASCII character, or ends a line after a blank",
    "line-in-word": "a line is continued inside a word; put a blank before the backslash at its end",
    "brace": "no braces; write the words out: a.py b.py in place of {a,b}.py",
}


def refusal(code: str) -> Refused:
    """Make the refusal of a piece of grammar."""
    return Refused(code, _REASONS[code])
