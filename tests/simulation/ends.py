"""How a simulated daemon, child or seed ends early: exceptions that no `except Exception` swallows."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

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
