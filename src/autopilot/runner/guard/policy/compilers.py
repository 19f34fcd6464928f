"""C and Java compilers called by hand: sources of the worktree in, files of the worktree out.

Must not accept an option that names a program, a plug-in or a file of further options. What they make counts
as written by the run, so it is not started. Source: gcc(1), javac(1).
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.grammar import Word
from autopilot.runner.guard.policy.forms import Call, Form, Policy, same
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLAG = re.compile(
    r"-(c|S|E|M|MM|MMD|MD|MP|g[0-3]?|ggdb[0-3]?|O[0-3sgz]?|Ofast|w|v|pipe|ansi|pedantic|pedantic-errors|pthread|shared"
    r"|static|m(32|64)|W[a-z0-9=+-]*|std=[a-z0-9+]+|l[A-Za-z0-9_+.-]+|D[A-Za-z0-9_]+(=[^@]*)?|U[A-Za-z0-9_]+"
    r"|f(syntax-only|PIC|pic|PIE|pie|openmp|exceptions|permissive|sanitize=[a-z,]+|no-[a-z-]+|visibility=[a-z]+"
    r"|stack-protector[a-z-]*|diagnostics-color(=[a-z]+)?))"
)
_VERSION = frozenset({"--version", "-version", "-v", "-dumpversion"})
_SOURCE = re.compile(r".*\.(c|cc|cpp|cxx|C|h|hh|hpp|hxx|m|mm|s|S|o|a)")
_JAVAC = Form(
    "-d=folder -g -nowarn -Xlint -Werror -deprecation -encoding=word -release=number "
    "-source=number -target=number",
    "read+",
    is_single=True,
)


def _refusal(call: Call, shown: str) -> Refused:
    told = (
        f"{call.name} does not take {shown!r} here; it compiles files of the worktree, and the tests are run"
    )
    return Refused("compiler", told)


def is_version(call: Call) -> bool:
    """Whether only the version is asked."""
    return len(call.args) == 1 and call.args[0].text in _VERSION


def _c(call: Call) -> None:
    if is_version(call):
        return
    words = list(call.args)
    sources = 0
    has_output = False
    while words:
        word = words.pop(0)
        text = word.text
        if text in {"-o", "-I", "-L", "-isystem"} and words:
            has_output |= text == "-o"
            (call.act.write if text == "-o" else call.act.read)(words.pop(0))
        elif text.startswith(("-I", "-L", "-o")) and len(text) > len("-I"):
            has_output |= text.startswith("-o")
            (call.act.write if text.startswith("-o") else call.act.read)(word.tail(len("-I")))
        elif text.startswith("-"):
            if not _FLAG.fullmatch(text) or word.pattern is not None:
                raise _refusal(call, text)
        elif _SOURCE.fullmatch(text):
            call.act.read(word)
            sources += 1
        else:
            raise _refusal(call, text)
    if not sources:
        raise Refused("operand-missing", f"{call.name}: name the sources")
    if not has_output:
        call.act.write(Word("a.out"))


def _javac(call: Call) -> None:
    if is_version(call):
        return
    args = tuple(word for word in call.args if not re.fullmatch(r"-Xlint:[a-z,-]+|-proc:none", word.text))
    for word in _JAVAC.read(call._replace(args=args)).operands:
        if not word.text.endswith(".java"):
            raise _refusal(call, word.text)


def _asked(call: Call) -> None:
    if not is_version(call):
        raise Refused("compiler", f"{call.name} is called by the build tool; by itself only for its version")


PROGRAMS: Mapping[str, Policy] = MappingProxyType(
    {
        **same(_c, "gcc", "g++", "cc", "c++", "clang", "clang++"),
        "javac": _javac,
        **same(_asked, "java", "kotlinc", "scala", "ghc"),
    }
)
