"""One attempt to get out: what is run, and with which words the system says no."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

GONE: Final = r"No such file|cannot access|Not a directory|cannot change to|does not exist|unable to access"
READ_ONLY: Final = r"Read-only file system"
SHUT: Final = (
    rf"{READ_ONLY}|Permission denied|Operation not permitted|Device or resource busy|Invalid cross-dev"
)
NO_WAY: Final = rf"{SHUT}|{GONE}"
NOTHING: Final = r"\A\s*\Z"
NOBODY: Final = r"No such process|No such file|failed to"
NO_ROUTE: Final = (
    r"refused|unreachable|not permitted|Name or service|name resolution|assign requested|No such"
)
NO_POWER: Final = (
    r"not permitted|not allowed|denied|must be superuser|No space left"
    r"|Invalid argument|not implemented|only root"
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A shell line or a Python program; `@name@` stands for a place of the world.

    It ends with 0 when it got what it wanted. `only_inside`: it aims at the machine itself, or at what
    not every machine would give anyway, so it is never tried without the sandbox.
    """

    name: str
    code: str
    refusal: str
    is_python: bool = False
    only_inside: bool = False

    def argv(self, places: Mapping[str, str]) -> list[str]:
        """Give the command, with the places filled in."""
        code = re.sub(r"@(\w+)@", lambda found: places[found[1]], self.code)
        return [places["python"], "-I", "-S", "-c", code] if self.is_python else ["bash", "-c", code]


def shell(
    group: str, refusal: str, lines: Iterable[str], *, only_inside: bool = False
) -> tuple[Attempt, ...]:
    """Attempts of one group that are told no in the same way; each is named after its line."""
    return tuple(Attempt(f"{group}: {line}", line, refusal, only_inside=only_inside) for line in lines)


def python(
    group: str, refusal: str, programs: Mapping[str, str], *, only_inside: bool = False
) -> tuple[Attempt, ...]:
    """The same in Python, for what no command does."""
    return tuple(
        Attempt(f"{group}: {name}", code, refusal, is_python=True, only_inside=only_inside)
        for name, code in programs.items()
    )
