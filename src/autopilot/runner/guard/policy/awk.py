"""awk: only programs that print and count.

Must not accept one that could read, write or run anything by itself. Source: awk(1p), gawk(1).
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, same
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_REACHES = re.compile(
    r"system|getline|ENVIRON|PROCINFO|ARGV|ARGC|fflush|close|SYMTAB|FUNCTAB|@|/inet|\\[0-9x]"
)
# Behind print, `>` names a file; anywhere else it compares.
_PRINTED = re.compile(r"\bprintf?\b[^;}]*>")
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*|\+\+|--|[A-Za-z_]\w*|[0-9.]+|\s+|.', re.DOTALL)
_EXPRESSION = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[\^?[^]\[/\\\n]+\]|\[\^?\[:[a-z]+:\]\])+/")
# What an expression between slashes may follow; behind these a slash never divides.
_OPENS = frozenset("(,!~&|{};?:") | {"", "\n"}
_CLOSES = re.compile(r'\w+|[0-9.]+|\]|""')
_WORDS_BEFORE = frozenset(
    {"print", "printf", "return", "in", "else", "do", "case", "delete", "exit", "length"}
)
_TEXT = '""'
_AWK = Form("-F:text -v:text --field-separator=text --assign=text", "text read*")


def _awk(call: Call) -> None:
    given = _AWK.read(call)
    program = given.operands[0].text if given.operands else ""
    bare = _bare(program)
    known = program if bare is None else bare
    may_write = ">" in program if bare is None else _PRINTED.search(bare) is not None
    if (
        _REACHES.search(program)
        or "|" in known.replace("||", "")
        or may_write
        or given.operands[0].pattern is not None
    ):
        raise Refused(
            "awk-program",
            "an awk program prints and counts: no system, getline, ENVIRON, ARGV, no | and no > behind print",
        )


def _bare(program: str) -> str | None:
    """Give a program without its texts and expressions; None where not every awk agrees what is one."""
    bare: list[str] = []
    at, before = 0, ""
    while at < len(program):
        if program[at] == "/" and before in _OPENS:
            found = _EXPRESSION.match(program, at)
        elif program[at] == "/" and (before in _WORDS_BEFORE or not _CLOSES.fullmatch(before)):
            return None
        else:
            found = _TOKEN.match(program, at)
        if found is None or found[0] in {'"', "\\"}:
            return None
        at = found.end()
        piece = _TEXT if found[0][0] in '"/' and len(found[0]) > 1 else found[0]
        if piece.startswith("#"):
            continue
        bare.append(piece)
        if not piece.isspace():
            before = piece
        elif "\n" in piece:
            before = "\n"
    return "".join(bare)


PROGRAMS: Mapping[str, Policy] = MappingProxyType(same(_awk, "awk", "gawk", "mawk"))
