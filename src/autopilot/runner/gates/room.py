"""Whether a gate that is not green had room to write in: what a full disk has cut short says nothing.

Looks while a gate runs and right after it. Must not make anything green, or excuse what was ended for
another known reason. Source: docs/decisions/0182.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.shortage import Shortage, full, refused, shortage
from autopilot.runner.sandbox.bounds import RESOURCE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.runner.gates.context import GateContext
    from autopilot.schemas.errors import TransientError

_KNOWN = frozenset({RESOURCE_LIMIT, "output-ceiling", "stopped"})
"""Codes of a gate that a limit of ours, or somebody, has ended: room would not have made it green."""


class Room:
    """The file systems that a round of gates writes to, and what was seen of them since `begin`."""

    def __init__(self, ctx: GateContext) -> None:
        """Take the folders that the gates' commands and we write to."""
        self._ours, self._should_stop = ctx.reports, ctx.should_stop
        self._folders = _one_of_each_disk(
            (ctx.reports, ctx.checkout, Path(ctx.env["HOME"]), ctx.scratch, *_temporary(ctx))
        )
        self._seen: Shortage | None = None
        self._red: list[TransientError | None] = []

    def look(self) -> str | None:
        """Look, and ask whether everything has to end; to be called while a command runs."""
        self._seen = self._seen or shortage(self._folders)
        return self._should_stop() if self._should_stop is not None else None

    def begin(self) -> None:
        """Forget what was seen: another command begins."""
        self._seen = None

    def judge(self, what: str, code: str, reason: str) -> None:
        """Note of something that is not green whether it had room."""
        if code in _KNOWN:
            self._red.append(None)
            return
        self._seen = self._seen or shortage(self._folders) or refused(self._ours)
        first = reason.strip().partition("\n")[0] or code
        self._red.append(self._seen.error(f"{what} was not green there: {first}") if self._seen else None)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the disk where a write of ours finds no room in it.

        Raises:
            TransientError: `disk-full`.
        """
        try:
            yield
        except OSError as exc:
            told = full(exc, self._ours)
            if told is None:
                raise
            raise (self._seen.error(str(exc)) if self._seen else told) from exc

    def require(self) -> None:
        """Refuse to call a round red in which nothing was red but what had no room.

        Raises:
            TransientError: `disk-full`: its verdicts say nothing about the commit.
        """
        spoiled = [error for error in self._red if error is not None]
        if spoiled and len(spoiled) == len(self._red) and not self.look():
            raise spoiled[0]


def _temporary(ctx: GateContext) -> tuple[Path, ...]:
    """Give the machine's own folder for temporary files where it is used: in a cell they are elsewhere."""
    return (Path(ctx.env.get("TMPDIR", "/tmp")),) if ctx.sandbox.kind == "none" else ()  # noqa: S108


def _one_of_each_disk(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    found: dict[int, Path] = {}
    for folder in folders:
        if folder.exists():
            found.setdefault(folder.stat().st_dev, folder)
    return tuple(found.values())
