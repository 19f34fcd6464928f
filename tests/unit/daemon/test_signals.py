"""A signal reaches the loop whichever thread took it, and the handlers of before come back."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from autopilot.daemon import signals
from autopilot.daemon.inbox import Inbox, StopAsked


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_another_thread_took_wakes_the_loop_that_waits(number: signal.Signals) -> None:
    """The loop waited for its next look, a minute in the worst case, after SIGSTOP and SIGCONT."""
    inbox, is_over = Inbox(), threading.Event()
    other = threading.Thread(target=is_over.wait)
    before = signal.signal(number, signal.SIG_DFL)  # under nohup this test's own is to ignore it
    try:
        with signals.told_to(inbox):
            other.start()
            signal.pthread_kill(other.ident or 0, number)
            assert inbox.take(60) == (StopAsked(number.name),)
            os.kill(os.getpid(), number)
            assert inbox.take(60) == (StopAsked(number.name),)
            is_over.set()
            other.join()
        assert signal.getsignal(number) == signal.SIG_DFL
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.signal(number, before)


def test_a_daemon_under_nohup_outlives_its_terminal() -> None:
    inbox = Inbox()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals.told_to(inbox):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            assert inbox.take(60) == (StopAsked("SIGTERM"),)
    finally:
        signal.signal(signal.SIGHUP, before)
