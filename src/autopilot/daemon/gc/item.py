"""What cleaning up looks at: one thing on the disk, whether it may go, and why.

Must not touch the disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal[
    "worktree",
    "earlier-worktree",
    "run-repositories",
    "orphan-run",
    "staging",
    "removing",
    "demo",
    "damaged-queue",
    "mirror",
    "salvage",
    "foreign",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing. `parts` are what goes of it, where it is not the whole."""

    kind: Kind
    path: Path
    may_go: bool
    why: str
    ticket: str | None = None
    run: str | None = None
    parts: tuple[Path, ...] = ()
    size_bytes: int = 0
    is_let_go: bool = False
    """A person said that it goes, also where not all of it can be saved."""
    needs_leave: bool = True
    """False for the worktree of an open pull request, which goes without the operator's switch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What became of an item that may go."""

    item: Item
    is_removed: bool
    told: str = ""
    """Why it stays; empty when it is gone."""
    is_news: bool = True
    """False where the same reason was told before and it was left alone since."""
