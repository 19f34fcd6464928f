"""Signals that ask the daemon to end, brought to the loop whichever thread the kernel gave them to.

Python runs a handler on the main thread only, and a main thread that waits is not woken by a signal that
another thread took: after SIGSTOP and SIGCONT the kernel often chooses another. So the number goes through
`signal.set_wakeup_fd`, which is written to at once, to a thread that reads it.
Source: docs.python.org/3/library/signal.html, "Execution of Python signal handlers"; signal(7).
"""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.config.threads import start
from autopilot.daemon.inbox import StopAsked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from autopilot.daemon.inbox import Inbox

_ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_OF_A_TERMINAL = (signal.SIGHUP, signal.SIGQUIT)
_AT_ONCE = 64
_JOIN_S = 5.0
_AGAIN_S = 0.1


@contextmanager
def told_to(inbox: Inbox) -> Iterator[None]:
    """Put TERM, INT and HUP into the inbox inside the block; only on the main thread.

    What `nohup` or a shell's background has us ignore is heard and not told. It is not left ignored, for that
    is inherited: a gate whose tests send HUP would fail on nights that were begun so, and on no other.

    Raises:
        TransientError: no thread can be started.
    """
    outlived = {each for each in _OF_A_TERMINAL if signal.getsignal(each) is signal.SIG_IGN}
    wanted = _ENDING - outlived
    near, far = socket.socketpair()
    with near, far:
        far.setblocking(False)  # noqa: FBT003 - its name for it
        reader = threading.Thread(target=_read, args=(near, wanted, inbox), name="signals", daemon=True)
        start(reader)
        fd_before = signal.set_wakeup_fd(far.fileno(), warn_on_full_buffer=False)
        before = {number: signal.signal(number, _noted) for number in _ENDING | outlived}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(fd_before)
            far.shutdown(socket.SHUT_WR)
            reader.join(_JOIN_S)


def _noted(number: int, frame: FrameType | None) -> None:
    """Do nothing: that there is a handler is what makes Python write the number."""


def _read(near: socket.socket, wanted: frozenset[signal.Signals], inbox: Inbox) -> None:
    """Tell until the other end is closed; without memory it is tried again, or nobody could end us."""
    pause, numbers = threading.Event(), b""
    is_open = True
    while is_open:
        try:
            numbers = numbers or near.recv(_AT_ONCE)
            is_open = bool(numbers)
            while numbers:
                if numbers[0] in wanted:
                    inbox.put(StopAsked(signal.Signals(numbers[0]).name))
                numbers = numbers[1:]
        except MemoryError:
            pause.wait(_AGAIN_S)
