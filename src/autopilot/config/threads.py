"""Starting a thread of ours: where the machine gives none, that is a reason to come back, not a bug.

CPython's own `Thread.start` waits for ever for a thread that dies for want of memory before its first step.
Source: CPython issue 140746; `Thread.start` and `_bootstrap` in Lib/threading.py, 3.11 to 3.14.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Startable(Protocol):
        """A thread, or what has some."""

        def start(self) -> None:
            """Begin."""


_LOOK_S = 0.05


def begin(thread: threading.Thread) -> None:
    """Start it, and come back also where it died before it did anything.

    Raises:
        RuntimeError: no more threads, or it died so; a new one can be begun.
        MemoryError: no memory for one.
    """
    first, begun = getattr(thread, "_bootstrap", None), getattr(thread, "_started", None)
    if first is None or not isinstance(begun, threading.Event) or begun.is_set():
        return thread.start()
    step = _FirstStep(first)
    setattr(thread, "_started", _Begun(thread, weakref.ref(step)))  # noqa: B010 - none of ours, as told above
    setattr(thread, "_bootstrap", step)  # noqa: B010 - as above
    del step, first  # from here on only the thread that is being started holds on to it
    try:
        thread.start()
    finally:
        _forget_first_step(thread)


def start(thread: Startable) -> None:
    """Start it.

    Raises:
        TransientError: `thread-unstarted`: no more threads, or no memory for one.

    Source: pthread_create(3), EAGAIN; CPython says so with a RuntimeError.
    """
    try:
        begin(thread) if isinstance(thread, threading.Thread) else thread.start()
    except (RuntimeError, MemoryError) as exc:
        raise TransientError(
            "thread-unstarted",
            f"the machine lets us start no thread: {exc}",
            hint="end other processes, or raise the limit on processes (ulimit -u) or memory (ulimit -v)",
        ) from exc


class _FirstStep:
    """What the new thread calls first; once it is gone, the thread has ended, or never came so far."""

    __slots__ = ("__weakref__", "_call")

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call

    def __call__(self) -> None:
        call = self._call
        del self  # whoever keeps the trace of an error must not keep us
        call()


class _Begun(threading.Event):
    """The word of a new thread that it has begun; whoever waits for it hears also that it never will."""

    def __init__(self, thread: threading.Thread, step: weakref.ref[_FirstStep]) -> None:
        super().__init__()
        self._thread = weakref.ref(thread)
        self._step = step

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - it is asked without, once
        if (thread := self._thread()) is not None:
            _forget_first_step(thread)
        while not self.is_set():
            is_gone = self._step() is None  # asked first: it may begin and end between the two
            if is_gone and not self.is_set():
                _forget(thread)
                raise RuntimeError("a new thread died for want of memory before it began")
            with suppress(MemoryError):
                super().wait(_LOOK_S)
        return True


def _forget_first_step(thread: threading.Thread) -> None:
    vars(thread).pop("_bootstrap", None)


def _forget(thread: threading.Thread | None) -> None:
    """Take it from those that are about to begin, as `start` does where it is refused at once."""
    limbo = getattr(threading, "_limbo", None)
    if isinstance(limbo, dict) and thread is not None:
        limbo.pop(thread, None)
