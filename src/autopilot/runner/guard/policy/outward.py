"""What the name of a task says it is for: one table for all runners of a project's own tasks.

Must not know a runner: each says first what shape its names have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from autopilot.runner.guard.grammar import Word

# In any part of a name: postinstall, prerelease, dockerpush.
_STEMS = re.compile(r"(?i)publish|releas|deploy|install|upload|docker|prepack|postpack|rollout|provision")
_WORDS = frozenset(
    {
        "pub", "push", "ship", "shipit", "shipping", "promote", "login", "logout", "submit", "announce",
        "notify", "tweet", "drop", "destroy", "wipe", "purge", "nuke", "rollback", "scp", "rsync", "ssh",
        "aws", "gcloud", "kubectl", "helm", "terraform", "heroku", "vercel", "netlify", "fly", "s3", "gh",
    }
)  # fmt: skip
# Where things run, or whom they are for: harmless behind a word that says what is done with them here.
_PLACES = frozenset({"prod", "production", "live", "staging", "stage", "canary", "preprod"})
_HARMLESS = frozenset(
    {
        "test", "tests", "build", "lint", "check", "compile", "bundle", "typecheck", "coverage", "format",
        "fmt", "analyze", "analyse", "verify", "validate", "clean", "unit", "package",
    }
)  # fmt: skip
# A program that is named for these does not put out what else its name tells of.
_LOOKS = frozenset({"test", "tests", "testing", "spec", "specs", "check", "lint", "verify", "validate"})
_TELLS = frozenset({"generate", "gen", "list", "show", "print", "render", "build", "format", "parse", "dry"})
_ENTRIES = frozenset({"main", "index", "__main__", "mod"})
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")

TASK = re.compile(
    r"([a-z][a-z0-9_.-]*:)?(test|tests|lint|check|build|fmt|format|typecheck|type-check|types|coverage|cov|unit|clean"
    r"|ci|verify)([:_-][A-Za-z0-9:_-]+)?"
)
"""What a task is called that tests, checks or builds."""


def is_outward(name: str, *, but: str = "") -> bool:
    """Whether a task of this name may put something out into the world, or change what lies there.

    Args:
        name: as the runner is given it.
        but: a word that means something else to this runner.
    """
    if _STEMS.search(re.sub(but, "", name, flags=re.IGNORECASE) if but else name):
        return True
    parts = [part.lower() for part in _PARTS.findall(name)]
    plain = [part.lower() for part in re.split(r"[^A-Za-z0-9]+", name)]
    if _WORDS & {*parts, *plain} or any(part.startswith("push") or part.endswith("push") for part in parts):
        return True
    return bool(_PLACES & {*parts, *plain}) and not _HARMLESS & set(parts[:1])


def check_program(shown: str, path: str) -> None:
    """Take a program of the repository: what its name says is put out is so by a task of that name too.

    Raises:
        Refused: it says that something is put out, and not that this is looked at, told of or tested.
    """
    folders, _, name = path.rstrip("/").rpartition("/")
    stem = name.partition(".")[0]
    if stem.lower() in _ENTRIES:
        stem = folders.rpartition("/")[2]
    parts = [part.lower() for part in _PARTS.findall(stem)]
    above = {part.lower() for part in _PARTS.findall(folders)}
    if not _LOOKS & {*parts, *above} and not _TELLS & set(parts[:1]) and is_outward(stem):
        named = path if shown == path else f"{shown} {path}"
        raise Refused("outward-task", f"{named}: a run installs and publishes nothing; say so instead")


def check_task(shown: str, word: Word, *, but: str = "") -> None:
    """Take the name of a task.

    Raises:
        Refused: it says that something is put out.
    """
    if word.pattern is not None or is_outward(word.text, but=but):
        raise Refused("outward-task", f"{shown} {word.text}: a run installs and publishes nothing")
