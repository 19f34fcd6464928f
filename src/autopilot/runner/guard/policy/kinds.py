"""What a word of a command may be: a file to read, a file to write, a number, one of some names.

Must not know a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from autopilot.runner.guard.act import Act
from autopilot.runner.guard.grammar import ANY, ONE, Word
from autopilot.runner.guard.tool_paths import alternatives
from autopilot.runner.guard.verdict import Refused

Kind = Callable[[Act, Word], None]

_REVISION = re.compile(r"[A-Za-z0-9_./@{}^~+=,#-]+")
_RANGE = re.compile(r"\.{2,3}")
_A_FILE = re.compile(r"[\w./@+~ -]*")
_ONE_LETTER = re.compile(r"\[[^\]]*\]|\?")
_LINKED = r"(-s|-w|-X[ =]'?[A-Za-z0-9_./-]+=[A-Za-z0-9_.:/+-]*'?)"


def any_text(act: Act, word: Word) -> None:
    """Take whatever is only data to the program."""


def read(act: Act, word: Word) -> None:
    """Take a file that is read; `-` is standard input.

    Several programs (pytest, mypy, tsc) take `@file` for a file of further arguments.
    """
    if word.text.startswith("@"):
        raise Refused(
            "argument-file", f"{word.text!r}: no file of arguments; a file so named is ./{word.text}"
        )
    if word.text != "-":
        act.read(word)


def write(act: Act, word: Word) -> None:
    """Take a file that is written; `-` is standard output."""
    if word.text != "-":
        act.write(word)


def folder(act: Act, word: Word) -> None:
    """Take a folder into which a tool writes files by names of its own."""
    act.write_into(word)


def settings(act: Act, word: Word) -> None:
    """Take a file of settings that replaces the project's own: of the worktree, not made by the run."""
    if not _A_FILE.fullmatch(word.text):
        # Several tools take their settings themselves here: jest a JSON object, ruff a line of TOML.
        raise Refused("settings-inline", f"{word.text!r}: settings are a file of the project, named plainly")
    if act.places.is_sink(word.text) or word.text in {"", "-"}:
        raise Refused("settings-off", f"{word.text!r}: the project's settings stay in force; leave it out")
    read(act, word)
    act.unmade(word)


def sieve(act: Act, word: Word) -> None:
    """Take a pattern that says which files are read, or with `!` which are not."""
    if word.text.startswith("!"):
        return
    for each in alternatives(word.text.lstrip("/")):
        marked = _ONE_LETTER.sub(ONE, each).replace("*", ANY)
        if each:
            act.read(Word(each, marked if ONE in marked else None))


def archive(act: Act, word: Word) -> None:
    """Take an archive that is read; `host:file` would be fetched by a remote shell. Source: tar(1)."""
    _check_local(word)
    read(act, word)


def new_archive(act: Act, word: Word) -> None:
    """Take an archive that is made."""
    _check_local(word)
    write(act, word)


def _check_local(word: Word) -> None:
    if ":" in word.text:
        raise Refused("remote-archive", f"{word.text!r}: an archive is a file here, without a colon")


def rewrite(act: Act, word: Word) -> None:
    """Take sources that a tool formats in place."""
    if word.text != "-":
        act.rewrite(word)


def tree(act: Act, word: Word) -> None:
    """Take a file or folder that is changed as a whole."""
    act.write_tree(word)


def stage(act: Act, word: Word) -> None:
    """Take a file that goes into the index or comes out of it."""
    act.stage(word)


def execute(act: Act, word: Word) -> None:
    """Take a program file of the repository."""
    act.execute(word)


def revision(act: Act, word: Word) -> None:
    """Take a revision, a range of them, or a file at one (`HEAD~1:src/app.py`)."""
    name, colon, path = word.text.partition(":")
    if word.pattern is not None or word.text.startswith("-"):
        raise Refused("revision", f"{word.text!r} is no revision")
    if not all(_REVISION.fullmatch(end) for end in _RANGE.split(name) if end):
        raise Refused("revision", f"{word.text!r} is no revision; write a branch, a commit, HEAD~1 or A..B")
    if colon and path:
        act.read(Word(path))


def tracked(act: Act, word: Word) -> None:
    """Take a revision, or a file whose history is asked for; of the magic of pathspecs, only "but not"."""
    excluded = re.match(r":(!|\^|\(exclude\))", word.text)
    staged = re.match(r":([0-3]:)?(?=[A-Za-z0-9_.])", word.text)
    if "://" in word.text:
        raise Refused("pathspec", f"{word.text!r} is no revision and no file")
    if excluded or staged:
        act.read(word.tail((excluded or staged).end()))  # type: ignore[union-attr]
    elif word.text.startswith(":"):
        raise Refused("pathspec", f"{word.text!r}: name the file plainly")
    elif ":" in word.text:
        revision(act, word)
    else:
        act.read(word)


def loose(act: Act, word: Word) -> None:
    """Take an argument of a program of the repository, whose meaning is not known.

    Whatever looks like a path must lead to a place that may be written.
    """
    _, equals, value = word.text.partition("=")
    start = len(word.text) - len(value) if equals else 0
    part = word.tail(start)
    if "://" in part.text:
        raise Refused("address-passed-on", f"{part.text!r}: an address is not passed to a program")
    if "/" in part.text or part.text.startswith("."):
        act.write_argument(part)


def _matching(shape: str, told: str) -> Kind:
    compiled = re.compile(shape)

    def check(_act: Act, word: Word) -> None:
        if word.pattern is not None or compiled.fullmatch(word.text) is None:
            raise Refused("value", f"{word.text!r} is not accepted here; {told}")

    return check


_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "text": any_text,
        "read": read,
        "write": write,
        "folder": folder,
        "settings": settings,
        "sieve": sieve,
        "tree": tree,
        "archive": archive,
        "new_archive": new_archive,
        "rewrite": rewrite,
        "stage": stage,
        "run": execute,
        "rev": revision,
        "tracked": tracked,
        "loose": loose,
        "number": _matching(r"[+-]?[0-9]+(\.[0-9]+)?[a-zA-Z%]{0,3}", "a number, e.g. 20"),
        # Without a plus it would set the clock.
        "date": _matching(r"\+[^\n]*", "a format, e.g. +%F"),
        "duration": _matching(r"[0-9]+(\.[0-9]+)?[smhd]?", "a time, e.g. 60 or 5m"),
        "word": _matching(r"[A-Za-z0-9_.,:+%@-]+", "a plain word of letters, digits and . , : _ -"),
        "modules": _matching(r"[!:]?[A-Za-z0-9_][A-Za-z0-9_:,!/-]*", "names of modules, joined by commas"),
        "loggers": _matching(r"[A-Za-z0-9_.;=-]+", "a name with settings, e.g. console;verbosity=detailed"),
        # A category with a dot is a module that would be imported. Source: python(1), -W.
        "warning": _matching(
            r"[a-z]*(:[^:]*(:([A-Za-z]*|pytest\.[A-Za-z]+)(:[A-Za-z0-9_.]*(:[0-9]*)?)?)?)?",
            "an action and a category of Python or pytest, e.g. error::DeprecationWarning",
        ),
        # Source: go tool link, -extld and its kin start programs.
        "ldflags": _matching(
            rf"({_LINKED}( {_LINKED})*)?",
            "-s, -w and -X name=value",
        ),
        "gcflags": _matching(r"(all=)?(-N|-l|-m|-m=[0-9]|-N -l|-l -N)", "-N, -l and -m"),
        "module": _matching(r"[A-Za-z0-9_.]+", "a dotted name"),
    }
)


def kind(name: str) -> Kind:
    """Look a kind up; `{a|b}` is one of these words."""
    if name.startswith("{"):
        words = name[1:-1].split("|")
        return _matching("|".join(map(re.escape, words)), f"one of {', '.join(words)}")
    return _KINDS[name]
