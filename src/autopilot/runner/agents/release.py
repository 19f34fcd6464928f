"""Which release of an agent's program is installed, and whether it is one whose hooks can be relied on.

Must not start it in a repository: only its `--version` is asked, in a folder of ours.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from autopilot.config import proc
from autopilot.config.environ import child_environment
from autopilot.config.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock

_ASKED_S = 60.0
_NUMBER = re.compile(rb"(?<![\d.])(\d{1,6})\.(\d{1,6})\.(\d{1,6})")


class Release(NamedTuple):
    """A release's number."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        """Write it as the program does."""
        return ".".join(str(part) for part in self)


class Need(NamedTuple):
    """The oldest release that can be relied on, what older ones lack, and how to update."""

    oldest: Release
    why: str
    cure: str


class Refusal(NamedTuple):
    """Why an installed program is not used."""

    code: str
    what: str
    hint: str


def refusal(argv: Sequence[str], need: Need, *, clock: Clock, folder: Path) -> Refusal | None:
    """Ask a program for its release; None when it is new enough.

    Args:
        argv: the program and its leading arguments.
        need: what it is held against.
        clock: measures the time it may take.
        folder: where it runs, and where its answer is written.
    """
    ended = proc.run(
        (*argv, "--version"),
        cwd=folder,
        env=child_environment(None, home=folder),
        output=folder / "agent-version.log",
        clock=clock,
        wall_s=_ASKED_S,
        grace_s=1.0,
    )
    found = release_in(ended.tail) if ended.ok else None
    if found is not None and found >= need.oldest:
        return None
    if found is not None:
        what = f"{argv[0]} is release {found}; {need.oldest} is the oldest that will do: {need.why}"
        return Refusal("agent-too-old", what, need.cure)
    said = one_line(ended.spawn_error or ended.tail.decode("utf-8", "replace")) or "nothing"
    what = f"{argv[0]} --version tells no release number; it said: {said}"
    return Refusal("agent-release-unknown", what, f"is that the agent's program? {need.cure}")


def release_in(told: bytes) -> Release | None:
    """Find the release in what a program tells about itself: the first three numbers with dots between."""
    match = _NUMBER.search(told)
    return Release(*(int(part) for part in match.groups())) if match else None
