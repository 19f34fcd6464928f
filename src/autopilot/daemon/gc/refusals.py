"""What could not be removed: told once, and left alone for a time that doubles, instead of at every sweep."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from autopilot.config.atomic import write_atomically
from autopilot.daemon.gc.standing import DAY_MS

if TYPE_CHECKING:
    from pathlib import Path

FILE = "gc-refusals.json"
_CAP_DAYS = 32


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a thing stays, how often that was tried, and when it is tried again (UTC epoch ms)."""

    reason: str
    tries: int
    since_ms: int
    next_ms: int


class Refusals:
    """The refusals of a state folder; a damaged file means that none is known."""

    def __init__(self, state: Path) -> None:
        """Read what is known."""
        self._file = state / FILE
        self._known = _read(self._file)

    def resting(self, path: Path, now_ms: int) -> Refusal | None:
        """Give the refusal of a thing that is not to be tried yet."""
        known = self._known.get(_key(path))
        return known if known is not None and known.since_ms <= now_ms < known.next_ms else None

    def known(self, path: Path) -> Refusal | None:
        """Give the last refusal of a thing, whether it is tried again by now or not."""
        return self._known.get(_key(path))

    def note(self, path: Path, reason: str, now_ms: int) -> bool:
        """Write a refusal down; say whether this reason is news."""
        old = self._known.get(_key(path))
        tries = old.tries + 1 if old else 1
        wait_ms = min(2 ** (tries - 1), _CAP_DAYS) * DAY_MS
        since_ms = old.since_ms if old else now_ms
        self._known[_key(path)] = Refusal(reason, tries, since_ms, now_ms + wait_ms)
        with suppress(OSError):  # on a full disk it is tried again at the next sweep, and this one goes on
            self._write()
        return old is None or old.reason != reason

    def forget(self, path: Path) -> None:
        """It is gone."""
        if self._known.pop(_key(path), None) is not None:
            with suppress(OSError):
                self._write()

    def _write(self) -> None:
        text = json.dumps({path: asdict(one) for path, one in sorted(self._known.items())}, indent=1)
        write_atomically(self._file, text.encode("utf-8", "backslashreplace"))


def _key(path: Path) -> str:
    return str(path)


def _read(file: Path) -> dict[str, Refusal]:
    try:
        return {path: Refusal(**one) for path, one in json.loads(file.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
