"""Programs that an operator lists as reading what they are given: paths and plain flags, and nothing else.

Must not accept an option that could name a program, a file of settings, or a file to write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from autopilot.runner.guard.policy.forms import Call

_LONG = re.compile(r"--[a-z][a-z0-9-]*")
_SHORT = re.compile(r"-[A-Za-z0-9]+")
_STEERS = re.compile(
    r"exec|command|cmd|shell|eval|script|plugin|load|require|import|pre-|post-|preprocess|output|out|write|fix|in-place|config|rc|settings|server|daemon"
)
_LETTERS = frozenset("ceiowx")


def read_only(call: Call) -> None:
    """Judge one call.

    Raises:
        Refused: an option that may do more than reading, an address, or a path outside.
    """
    if call.heredoc is not None:
        raise Refused(
            "listed-program", f"{call.name} is listed for reading files, and takes no here-document"
        )
    for word in call.args:
        name, equals, _ = word.text.partition("=")
        if word.text.startswith("-") and word.text not in {"-", "--"}:
            is_plain = _LONG.fullmatch(name) and not _STEERS.search(name)
            if not is_plain and not (_SHORT.fullmatch(word.text) and not _LETTERS & set(word.text)):
                raise Refused("listed-program", f"{call.name} is listed for reading, and {name} may do more")
        if "://" in word.text:
            raise Refused("address-passed-on", f"{word.text!r}: an address is not passed to a program")
        part = word.tail(len(name) + 1) if equals and word.text.startswith("-") else word
        if part.text.startswith("@"):
            raise Refused("argument-file", f"{part.text!r}: no file of arguments")
        if not part.text.startswith("-"):
            call.act.read(part)
