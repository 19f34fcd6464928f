"""A thread that dies for want of memory before its first step: who starts it hears of it.

Python tells of such a thread on standard error alone. Source: CPython issue 140746.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable

import pytest

from autopilot.config.threads import begin, start
from autopilot.schemas.errors import TransientError
from tests.support.tree import ROOT
from tests.support.wait import wait_until

DIES = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
STARVED = """
import resource, sys, threading
from autopilot.config.threads import begin
from autopilot.schemas.errors import AutopilotError
told, kept = [], []
threading.stack_size(256 * 1024)
begin(threading.Thread(target=told.append, args=("warm",)))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {spare}, resource.RLIM_INFINITY))
ends = {{"begun": 0, "refused": 0}}
try:
    while True:
        kept.append(bytearray(500))
except MemoryError:
    pass
for number in range(200):
    try:
        begin(threading.Thread(target=told.append, args=(number,), daemon=True))
        ends["begun"] += 1
    except (RuntimeError, MemoryError):
        ends["refused"] += 1
del kept
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
begin(last := threading.Thread(target=told.append, args=("last",)))
last.join()
assert told[-1] == "last", told
print(ends["begun"] + ends["refused"])
"""


class Stillborn(threading.Thread):
    """The system gives it, and it has no memory for its first call, so often."""

    left = 1

    def _bootstrap(self) -> None:
        if Stillborn.left > 0:
            Stillborn.left -= 1
            raise MemoryError
        super()._bootstrap()  # type: ignore[misc]  # of CPython, and not for others


@pytest.fixture(autouse=True)
def fresh() -> None:
    Stillborn.left = 1


@DIES
@pytest.mark.timeout(60)
def test_who_starts_it_is_told_and_can_start_another() -> None:
    said: list[str] = []
    thread = Stillborn(target=said.append, args=("begun",), daemon=True)
    with pytest.raises(RuntimeError, match="died for want of memory before it began"):
        begin(thread)
    assert not thread.is_alive()
    assert thread not in threading.enumerate()
    begin(other := Stillborn(target=said.append, args=("begun",), daemon=True))
    other.join()
    assert said == ["begun"]


@DIES
@pytest.mark.timeout(60)
def test_a_part_that_must_not_fail_for_it_comes_back_later() -> None:
    with pytest.raises(TransientError, match="died for want of memory") as caught:
        start(Stillborn(daemon=True))
    assert caught.value.code == "thread-unstarted"
    assert "ulimit -v" in caught.value.hint


def test_a_thread_is_begun_once_and_leaves_nothing() -> None:
    thread = threading.Thread(target=str)
    begin(thread)
    thread.join()
    with pytest.raises(RuntimeError, match="once"):
        begin(thread)
    ref = weakref.ref(thread)
    del thread
    wait_until(lambda: gc.collect() >= 0 and ref() is None, 20, "it is gone")


@pytest.mark.parametrize("end", [str, int("1").bit_length, {}.popitem], ids=["well", "soon", "badly"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_at_once_has_begun_all_the_same(end: Callable[[], object]) -> None:
    for _ in range(200):
        begin(thread := threading.Thread(target=end))
        thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds RLIMIT_AS")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("spare", [0, 100_000, 300_000, 1_000_000])
def test_under_a_real_limit_on_memory_nobody_who_starts_threads_waits_for_ever(spare: int) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", STARVED.format(spare=spare)],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr[-2000:]
