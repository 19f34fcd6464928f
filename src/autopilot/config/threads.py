"""Starting a thread of ours: where the machine gives none, that is a reason to come back, not a bug.

Must not be used where losing the thread could be made up for: there it is tried again (`supervisor.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from typing import Protocol

    class Startable(Protocol):
        """A thread, or what has some."""

        def start(self) -> None:
            """Begin."""


def start(thread: Startable) -> None:
    """Start it.

    Raises:
        TransientError: `thread-unstarted`: no more threads, or no memory for one.

    Source: pthread_create(3), EAGAIN; CPython says so with a RuntimeError.
    """
    try:
        thread.start()
    except (RuntimeError, MemoryError) as exc:
        raise TransientError(
            "thread-unstarted",
            f"the machine lets us start no thread: {exc}",
            hint="end other processes, or raise the limit on processes (ulimit -u) or memory (ulimit -v)",
        ) from exc
