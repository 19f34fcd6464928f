"""Asks real bash which commands it runs, without running one.

There is nothing on the PATH; every builtin that the random lines can spell is a function that writes its
arguments down, and so is every command that is not found. Wildcards stay as they are (`set -f`): the lexer
marks them, and the policies judge what they could become. Each line runs in a subshell, in an empty folder of
its own if it writes. A record is one write, or those of a pipeline would mix: bash flushes at a newline, so
another character stands for it. Source: bash(1), COMMAND EXECUTION; functions come before builtins outside
posix mode.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from autopilot.runner.guard.grammar import Simple
from autopilot.runner.guard.lexer import parse
from autopilot.runner.guard.verdict import Refused

_TIMEOUT_S = 120
_SHADOWED = (
    "echo cd test [ true false : exit pwd eval exec export declare typeset readonly local unset "
    "alias unalias set shopt trap source . command hash enable ulimit umask kill wait jobs fg bg "
    "disown let read mapfile readarray type times return break continue shift pushd popd dirs "
    "history fc getopts bind complete compgen compopt suspend logout help caller"
)
_SCRIPT = r"""
PATH=/nonexistent FUNCNEST=20
log=$1 lines=$2
exec 250>>"$log"
ulimit -f 500000 -t 240
builtin set -f
record() { printf '%s\0' "argv:$#" "${@//$'\n'/$'\036'}" >&250; }
command_not_found_handle() { record "$@"; }
for name in SHADOWED; do
    builtin eval "function $name { record $name \"\$@\"; }"
done
while IFS= builtin read -r -d '' folder && IFS= builtin read -r -d '' line; do
    printf '%s\0' line >&250
    ( builtin cd -- "$folder" && builtin eval "$line" ) </dev/null >/dev/null 2>&1
done <"$lines"
"""
_NEWLINE = "\x1e"
_DIGITS = re.compile(r"[0-9]+")


class Accepted(NamedTuple):
    """A line that the lexer accepts, and what it sees in it."""

    text: str
    seen: tuple[Simple, ...]

    @property
    def targets(self) -> set[str]:
        """The files that it writes, as far as the lexer sees."""
        return {
            redirect.target.text
            for command in self.seen
            for redirect in command.redirects
            if redirect.kind != "<"
        }


class Unseen(NamedTuple):
    """What bash did and the lexer did not see."""

    text: str
    what: str


def accepted(texts: Iterable[str]) -> list[Accepted]:
    """Those that the lexer accepts, but for lines that would write into this machine's own folders."""
    found = []
    for text in texts:
        try:
            one = Accepted(text, parse(text))
        except Refused:
            continue
        if all(map(_stays_inside, one.targets)):
            found.append(one)
    return found


def unseen(lines: Sequence[Accepted], place: Path) -> Iterator[Unseen]:
    """Let bash run the lines and tell what the lexer had not seen of it."""
    bash = shutil.which("bash")
    assert bash is not None
    empty = place / "empty"
    empty.mkdir(parents=True)
    folders = [place / str(index) if one.targets else empty for index, one in enumerate(lines)]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    with (place / "lines").open("wb") as file:
        for one, folder in zip(lines, folders, strict=True):
            file.write(f"{folder}\0{one.text}\0".encode())
    script = place / "oracle.bash"
    script.write_text(_SCRIPT.replace("SHADOWED", _SHADOWED), encoding="utf-8")
    done = subprocess.run(
        [bash, "--norc", "--noprofile", script, place / "log", place / "lines"],
        env={"LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    ran = _ran((place / "log").read_bytes())
    assert len(ran) == len(lines), f"bash came to {len(ran)} of {len(lines)} lines: {done.stderr[-500:]!r}"
    for one, folder, commands in zip(lines, folders, ran, strict=True):
        yield from _differences(one, folder, commands)


def _ran(log: bytes) -> list[list[list[str]]]:
    """The commands of each line, from the log."""
    fields = iter(log.decode("utf-8", "surrogateescape").split("\0")[:-1])
    lines: list[list[list[str]]] = []
    for field in fields:
        if field == "line":
            lines.append([])
        else:
            count = int(field.removeprefix("argv:"))
            lines[-1].append([next(fields).replace(_NEWLINE, "\n") for _ in range(count)])
    return lines


def _differences(one: Accepted, folder: Path, commands: list[list[str]]) -> Iterator[Unseen]:
    seen = {_comparable([word.text for word in command.argv], one) for command in one.seen}
    for argv in commands:
        if _comparable(argv, one) not in seen:
            yield Unseen(one.text, f"bash ran {argv!r}; seen: {sorted(seen)!r}")
    named = set(map(posixpath.normpath, one.targets))
    if named:
        for file in folder.iterdir():
            if file.name not in named:
                yield Unseen(one.text, f"bash wrote {file.name!r}; seen: {sorted(named)!r}")


def _stays_inside(target: str) -> bool:
    return target == "/dev/null" or not (target.startswith("/") or ".." in target)


def _comparable(argv: list[str], one: Accepted) -> tuple[str, ...]:
    """With `$?` in a line any number may stand where the lexer saw one."""
    if "$?" in one.text:
        return tuple(_DIGITS.sub("0", word) for word in argv)
    return tuple(argv)
