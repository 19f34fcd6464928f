"""The pytest plugin that gives signals back: what a test does to them in our process ends with it.

A publisher ignores SIGTERM once its work is as good as done. Played in the process of the tests, every child
of a later test would inherit that, and could not be ended. And what ignores a signal when the tests begin, as
`nohup` or a shell's background do, is no business of theirs: a test begins as on a terminal.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from typing import Final

import pytest

KEPT: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    before = {number: signal.getsignal(number) for number in KEPT}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            is_raised = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_raised else signal.SIG_DFL)
    try:
        return (yield)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
