"""How a simulated daemon, child or seed ends early: exceptions that no `except Exception` swallows."""

from __future__ import annotations


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
