"""The pytest plugin that gives signals back: what a test does to them in our process ends with it.

A publisher ignores SIGTERM once its work is as good as done. Played in the process of the tests, every child
of a later test would inherit that, and could not be ended.
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
    try:
        return (yield)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
