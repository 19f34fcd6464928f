"""What a report is made of before anything is masked: named pieces, and what was left out. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.probe import Limit

KIB = 1024


@dataclass(frozen=True, slots=True)
class Facts:
    """A file of JSON."""

    name: str
    about: str
    value: Any


@dataclass(frozen=True, slots=True)
class Journal:
    """A file of JSON lines."""

    name: str
    about: str
    lines: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Text:
    """A file of text."""

    name: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Left:
    """Something that is not in the report."""

    what: str
    why: str


Piece = Facts | Journal | Text | Left


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person asked for."""

    log_kib: int
    """Of the daemon's log."""
    with_texts: bool
    """Whether what log and journals say in words is kept."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a section works with."""

    paths: Paths
    clock: Clock
    wish: Wish


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report, gathered beside the others and within a time of its own."""

    name: str
    gather: Callable[[Given, Limit], Iterator[Piece]]
    within_s: float = 20.0
