"""Asks real bash which names a wildcard stands for, against what the lexer says it may become."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from autopilot.runner.guard.grammar import NIL
from autopilot.runner.guard.lexer import parse
from autopilot.runner.guard.names import may_meet
from autopilot.runner.guard.verdict import Refused

_PIECES = (
    *("a", "b", "p", "x", "*", "?", "[", "]", "[a", "[!", "[^", "b]", "[[:lower:]]", "[[:alpha:][:digit:]]"),
    *(
        "[]a]",
        "[!]b]",
        "[a-p]",
        "[[.p.]]",
        "[[=a=]]",
        "-",
        ".",
        ":",
        "=",
        "'a'",
        '"b"',
        "\\p",
        "\\]",
        "[a']'b]",
    ),
)
_NAMES = (
    *("a", "b", "p", "x", "ab", "pa", "xx", "a.b", "pap", "a]", "b]", "]", "[a", "[ab]", "a-p", "abx", "bpx"),
    *("a:b", "p=", "-", "[", "x]b", "ppp", "axbp", "!a", "^b"),
)
_SCRIPT = r"""
mapfile -t names <"$2"
while IFS= read -r word; do
    eval "for name in \"\${names[@]}\"; do
        case \$name in $word) printf '%s\t%s\n' \"\$word\" \"\$name\";; esac
    done"
done <"$1"
"""


class Matched(NamedTuple):
    """A word of the shell, and a name that bash takes it for."""

    word: str
    name: str


def words(seed: int, count: int) -> dict[str, str]:
    """Give random words that the lexer accepts, each with its marked wildcards."""
    chance = random.Random(seed)
    found: dict[str, str] = {}
    for _ in range(count):
        word = "a" * chance.randint(0, 1) + "".join(chance.choices(_PIECES, k=chance.randint(1, 3)))
        try:
            ((command),) = parse(f"cat {word}")
        except Refused:
            continue
        if len(command.argv) == 2 and command.argv[1].pattern is not None:
            found[word] = command.argv[1].pattern.replace(NIL, "")
    return found


def matched(known: Mapping[str, str], place: Path) -> list[Matched]:
    """Let bash say what each word stands for."""
    bash = shutil.which("bash")
    assert bash is not None
    place.mkdir(parents=True, exist_ok=True)
    (place / "words").write_text("".join(f"{word}\n" for word in known), encoding="utf-8")
    (place / "names").write_text("".join(f"{name}\n" for name in _NAMES), encoding="utf-8")
    done = subprocess.run(
        [bash, "--norc", "-c", _SCRIPT, "bash", place / "words", place / "names"],
        env={"LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [Matched(*line.split("\t")) for line in done.stdout.splitlines()]


def unsaid(known: Mapping[str, str], found: list[Matched]) -> list[Matched]:
    """Name what bash takes a word for, and the lexer does not."""
    return [one for one in found if not may_meet(one.name, known[one.word])]
