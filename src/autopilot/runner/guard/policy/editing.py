"""sed and awk: only scripts of which every command is known to print, delete lines or replace text.

Must not accept a script that could read, write or run anything by itself.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy.forms import Call, Form, Policy, same
from autopilot.runner.guard.policy.kinds import read, write
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_ADDRESS = r"(?:[0-9]+(?:~[0-9]+)?|\$|/(?:[^/\\\n]|\\[^\n])*/I?)"
_RANGE = re.compile(rf"\s*(?:{_ADDRESS}(?:,(?:{_ADDRESS}|\+[0-9]+))?)?\s*!?\s*")
_SIMPLE = re.compile(r"[pdq=nNDPhHgGx]\s*(?=[;\n}]|$)")
_BLOCK = re.compile(r"\{\s*")
_BLOCK_END = re.compile(r"\s*\}\s*")
# One line of text, to the end of the script: `;` and `}` are part of it.
_TEXT = re.compile(r"[aic](?:\\\s*|\s+)[^\n]*(?<!\\)$")
_FLAGS = re.compile(r"[gIip0-9]*\s*(?=[;\n}]|$)")
_TOLD = (
    "accepted sed scripts print, delete or quit (10,20p /x/d 5q), insert one line (3i text), or replace "
    "(s/old/new/g, flags g i I p and a number), joined by ;"
)
_SED = Form(
    "-nErsuz -i[:{.bak|.orig}] -e:text --quiet --silent --regexp-extended --in-place[={.bak|.orig}] "
    "--expression=text "
    "--separate --null-data --debug --version",
    "text*",
)


def _sed(call: Call) -> None:
    given = _SED.read(call)
    scripts = given.values("-e", "--expression")
    operands = list(given.operands)
    if given.has("--version") and not operands:
        return
    if not scripts:
        if not operands:
            raise Refused("sed-script", _TOLD)
        scripts = [operands.pop(0)]
    for script in scripts:
        check_script(script.text)
    for word in operands:
        (write if given.has("-i", "--in-place") else read)(call.act, word)


def check_script(script: str) -> None:
    """Accept a sed script of known commands. Source: sed(1).

    Raises:
        Refused: any other command or flag.
    """
    at = depth = 0
    while at < len(script):
        closed = _BLOCK_END.match(script, at)
        if closed is not None and depth:
            at, depth = closed.end(), depth - 1
            if script[at : at + 1] in {";", "\n"}:
                at += 1
            continue
        address = _RANGE.match(script, at)
        at = address.end() if address else at
        block = _BLOCK.match(script, at)
        if block is not None:
            at, depth = block.end(), depth + 1
            continue
        simple = _SIMPLE.match(script, at)
        if simple is not None:
            at = simple.end()
        elif _TEXT.match(script, at):
            return
        elif script[at : at + 1] == "s":
            at = _after_replacement(script, at + 1)
        else:
            raise Refused("sed-script", _TOLD)
        at += script[at : at + 1] != "}"  # past the separator; the end of a block is a command of its own


def _after_replacement(script: str, at: int) -> int:
    mark = script[at : at + 1]
    if not mark or mark.isalnum() or not mark.isascii() or mark in "\\\n ;":
        raise Refused("sed-script", _TOLD)
    parts: list[str] = []
    start = at = at + 1
    while at < len(script) and len(parts) < 2:
        if script[at] == "\\":
            at += 1
        elif script[at] == "\n":
            break
        elif script[at] == mark:
            parts.append(script[start:at])
            start = at + 1
        at += 1
    flags = _FLAGS.match(script, at)
    if len(parts) < 2 or flags is None or at > len(script):
        raise Refused("sed-script", _TOLD)
    # Some seds take the mark inside [...] for text and some do not: then nobody knows where it ends.
    if parts[0].count("[") > parts[0].count("]"):
        raise Refused("sed-script", _TOLD)
    return flags.end()


_AWK_WORDS = re.compile(
    r"system|getline|ENVIRON|PROCINFO|ARGV|ARGC|fflush|close|SYMTAB|FUNCTAB|@|/inet|\\[0-9x]"
)
_AWK_PRINTED = re.compile(r"print[^;}]*>")
# `>` compares with a number and nothing behind it; behind print it would name a file.
_AWK_LESS = re.compile(r">(?!=|\s*[0-9]+(\.[0-9]+)?\s*(?:[){};&|]|$))")
_AWK = Form("-F:text -v:text --field-separator=text --assign=text", "text read*")


def _awk(call: Call) -> None:
    given = _AWK.read(call)
    program = given.operands[0].text if given.operands else ""
    rest = program.replace("||", "")
    if (
        _AWK_WORDS.search(program)
        or "|" in rest
        or _AWK_PRINTED.search(program)
        or _AWK_LESS.search(program)
        or given.operands[0].pattern is not None
    ):
        raise Refused(
            "awk-program",
            "an awk program prints and counts: no system, getline, ENVIRON, ARGV, no | and no > behind print",
        )


PROGRAMS: Mapping[str, Policy] = MappingProxyType({"sed": _sed, **same(_awk, "awk", "gawk", "mawk")})
