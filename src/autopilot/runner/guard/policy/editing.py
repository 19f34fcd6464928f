"""sed: only scripts of which every command is known to print, delete lines or replace text.

Must not accept a script that could read, write or run anything by itself.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy
from autopilot.runner.guard.policy.kinds import read, write
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_ADDRESS = r"(?:[0-9]+(?:~[0-9]+)?|\$|/(?:[^/\\\n]|\\[^\n])*/I?)"
_RANGE = re.compile(rf"\s*(?:(?P<first>{_ADDRESS})(?:,(?P<second>{_ADDRESS}|\+[0-9]+))?)?\s*!?\s*")
# What a set of letters is to some seds, in which the mark that ends an expression is a letter like any other.
_SETS = (
    re.compile(r"\[\^?+\]?+[^]]*+\]"),
    re.compile(r"\[\^?+\]?+(?:\[[:.=][^]]*[:.=]\]|[^]])*\]"),
)
_SIMPLE = re.compile(r"[pdq=nNDPhHgGx]\s*(?=[;\n}]|$)")
_BLOCK = re.compile(r"\{\s*")
_BLOCK_END = re.compile(r"\s*\}\s*")
# One line of text, to the end of the script: `;` and `}` are part of it.
_TEXT = re.compile(r"[aic](?:\\\s*|\s+)[^\n]*(?<!\\)$")
_FLAGS = re.compile(r"[gIip0-9]*\s*(?=[;\n}]|$)")
_ESCAPED = re.compile(r"\\.")
_TRANSLITERATION = re.compile(r"/(?:[^]/\\\n[]|\\[^\n])+/(?:[^]/\\\n[]|\\[^\n])+/\s*(?=[;\n}]|$)")
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
        for suffix in given.values("-i", "--in-place"):
            kept = None if word.pattern is None else word.pattern + suffix.text
            write(call.act, Word(word.text + suffix.text, kept))


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
        at = _after_address(script, at)
        block = _BLOCK.match(script, at)
        if block is not None:
            at, depth = block.end(), depth + 1
            continue
        if _TEXT.match(script, at):
            return
        at = _after_command(script, at)
        at += script[at : at + 1] != "}"  # past the separator; the end of a block is a command of its own


def _after_address(script: str, at: int) -> int:
    address = _RANGE.match(script, at)
    if address is None:
        return at
    for part in ("first", "second"):
        start = address.start(part)
        if start >= at and script[start] == "/":
            _check_end(script[start + 1 :], "/", address[part].rindex("/") - 1)
    return address.end()


def _after_command(script: str, at: int) -> int:
    simple = _SIMPLE.match(script, at)
    if simple is not None:
        return simple.end()
    match script[at : at + 1]:
        case "s":
            return _after_replacement(script, at + 1)
        case "y":
            return _after_transliteration(script, at + 1)
        case _:
            raise Refused("sed-script", _TOLD)


def _after_replacement(script: str, at: int) -> int:
    mark = script[at : at + 1]
    if not mark or mark.isalnum() or not mark.isascii() or mark in "\\\n ;":
        raise Refused("sed-script", _TOLD)
    parts: list[str] = []
    first = start = at = at + 1
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
    _check_end(script[first:], mark, len(parts[0]))
    return flags.end()


def _after_transliteration(script: str, at: int) -> int:
    """Give the end of `y/abc/xyz/`."""
    found = _TRANSLITERATION.match(script, at)
    if found is None:
        raise Refused("sed-script", _TOLD)
    return found.end()


def _check_end(expression: str, mark: str, end: int) -> None:
    """Make sure that an expression ends there for every sed: some take the mark inside [...] for text.

    Raises:
        Refused: for some it ends elsewhere.
    """
    inside = _ESCAPED.sub("", expression[:end])
    ends = {_end_of(expression, mark, way) for way in _SETS} if "[" in inside else {end}
    if ends != {end} or inside.count("[") > inside.count("]"):
        raise Refused("sed-script", _TOLD)


def _end_of(expression: str, mark: str, sets: re.Pattern[str]) -> int | None:
    at = 0
    while at < len(expression) and expression[at] != mark:
        found = sets.match(expression, at)
        at = found.end() if found else at + 1 + (expression[at] == "\\")
    return at


PROGRAMS: Mapping[str, Policy] = MappingProxyType({"sed": _sed})
