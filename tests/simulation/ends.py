"""How a simulated daemon, child or seed ends early: what no `except Exception` swallows, and bad records."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any, TypeVar

from autopilot.schemas.records import Record
from tests.simulation.chance import Chance

Told = TypeVar("Told", bound=Record)
BADLY = ("none", "half", "foreign")
"""How the record that a child leaves goes wrong: it is not there, is cut off, or is of another."""

Script = Generator[int | None, None, int]
"""Each step does something and gives the milliseconds awake until the next, or None: until somebody wakes it.
Its end is the process's exit."""
Patch = tuple[Any, str, Any]
"""A module or class, the name of an attribute, and what takes its place for a while."""


class DaemonKilled(BaseException):
    """SIGKILL, here and now: nothing in memory is left."""


class SeedOver(BaseException):
    """Everything has come to rest."""


class ChildKilled(BaseException):
    """The child under way dies in the middle of what it does."""


class ChildHangs(BaseException):
    """The child under way waits for ever in the middle of what it does."""


class Broken(BaseException):
    """An invariant does not hold. The text says which."""


def badly_written(path: Path, record: Told, *, fate: str, chance: Chance, other_id: str) -> Told | None:
    """Do what a fate of `BADLY` does to a record; gives what is to be written whole, if anything."""
    match fate:
        case "none":
            return None
        case "half":
            text = record.model_dump_json()
            path.write_text(text[: chance.between(0, len(text) - 1)])
            return None
        case "foreign":
            return record.model_copy(update={"id": other_id})
        case _:
            return record
