"""What we ask of a forge. Two implement it: `local` and `github`.

A method raises TransientError when nobody needs to act, `Stop` when a person must. Must not hold a token in
any text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from autopilot.schemas.publication import PullRequest


@dataclass(frozen=True, slots=True)
class Known:
    """A pull request that is there already, and what we need to know whether it is ours."""

    pr: PullRequest
    head: str
    base: str
    body: str
    author: str
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pull request to open. It is always a draft."""

    branch: str
    base: str
    head: str
    title: str
    body: str


class Forge(Protocol):
    """A place for pull requests."""

    def protection(self, branch: str) -> str | None:
        """Say how the forge itself protects a branch, or None when it does not or does not tell."""
        ...

    def find(self, branch: str) -> Known | None:
        """Find the pull request whose head is this branch: an open one, else the latest in any state."""
        ...

    def get(self, number: int) -> Known:
        """Give the pull request of this number as it is now; that there is none is a `Stop`."""
        ...

    def create(self, wanted: Wanted) -> PullRequest:
        """Open a draft; when one for this head is there already, or the answer got lost, give that one."""
        ...

    def update(self, known: Known, *, body: str, head: str) -> None:
        """Replace the text of a pull request of ours, whose branch shows `head` now."""
        ...

    def weaknesses(self, branch: str) -> tuple[str, ...]:
        """Say in what the token may do too much, and the rules of base and release branches too little."""
        ...
