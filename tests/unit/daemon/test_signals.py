"""A signal reaches the loop whichever thread took it, and the handlers of before come back."""

from __future__ import annotations

import os
import signal
import subprocess
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


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT])
def test_what_nohup_or_a_background_ignores_is_outlived_and_not_inherited(number: signal.Signals) -> None:
    """A gate whose tests send SIGHUP failed on nights that `nohup` had begun."""
    inbox = Inbox()
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with signals.told_to(inbox):
            os.kill(os.getpid(), number)
            child = subprocess.run(["sh", "-c", f"kill -{number:d} $$; sleep 60"], check=False)
            assert child.returncode == -number
            os.kill(os.getpid(), signal.SIGTERM)
            assert inbox.take(60) == (StopAsked("SIGTERM"),)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)
