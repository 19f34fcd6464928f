"""The daemon's threads share one heap: many that come and go leave no memory behind that stays unused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autopilot.config.heap import share_one_heap
from tests.support.daemon import ROOT, Daemon
from tests.support.heaps import heaps_of_threads, needs_glibc

CROWD = 16
THREADS = f"""
import sys, threading
if "shared" in sys.argv:
    from autopilot.config.heap import share_one_heap
    assert share_one_heap()
meet = threading.Barrier({CROWD} + 1)
def hold():
    held = bytearray(65536)
    meet.wait()
    meet.wait()
for _ in range({CROWD}):
    threading.Thread(target=hold).start()
meet.wait()
print("ready", flush=True)
sys.stdin.read()
meet.wait()
"""


ANSWERS = """
import sys
if "shared" in sys.argv:
    from autopilot.config.heap import share_one_heap
    assert share_one_heap()
def pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
bytearray(8 << 20)
before = pages()
answers = [(bytearray(1 << 20), bytearray(4096)) for _ in range(20)]
kept = [small for _, small in answers]
del answers
print(pages() - before)
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "home", config='[schedule]\nwindow = ""\n[awake]\nenabled = false\n')
    yield daemon
    daemon.clean_up()


def heaps_with_a_crowd(*words: str) -> int:
    """Count the heaps of a program in which a crowd of threads holds memory."""
    program = [sys.executable, "-P", "-c", THREADS, *words]
    env = {"PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(program, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        found = heaps_of_threads(process.pid)
        process.communicate()
    assert process.returncode == 0
    return found


@needs_glibc
def test_threads_that_share_one_heap_get_none_of_their_own() -> None:
    assert heaps_with_a_crowd() > 1, "without it each has one, as far as there are processors"
    assert heaps_with_a_crowd("shared") == 0


@needs_glibc
def test_what_is_large_is_given_back_also_after_something_larger() -> None:
    env = {"PYTHONPATH": str(ROOT / "src")}
    pages = [
        int(subprocess.check_output([sys.executable, "-P", "-c", ANSWERS, *words], env=env))
        for words in ((), ("shared",))
    ]
    assert pages[0] > 20 * 256, "without it all of it stays, for what is small lies between"
    assert pages[1] < 2 * 256


@needs_glibc
@pytest.mark.field_report("DMN-050")
def test_dmn_050_a_daemon_that_has_answered_many_at_once_has_the_heap_it_started_with(daemon: Daemon) -> None:
    daemon.start()
    assert daemon.process is not None
    with ThreadPoolExecutor(CROWD) as crowd:
        answers = list(crowd.map(lambda _: daemon.call("GET", "/v1/status"), range(8 * CROWD)))
    assert all(answer["daemon"]["trouble"] is None for answer in answers)
    assert heaps_of_threads(daemon.process.pid) == 0


@pytest.mark.skipif(sys.platform == "linux", reason="there it depends on the library")
def test_where_there_is_no_such_thing_nothing_is_done() -> None:
    assert not share_one_heap()
