"""A real daemon under a tight limit on memory ends with 75 and a hint, or waits; the queue is whole."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from autopilot.daemon.store import writes
from autopilot.daemon.store.engine import Store
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.daemon import PATIENCE_S, Daemon
from tests.support.house import House
from tests.support.mortality import ENDLESS, NO_BREAKER
from tests.support.shop import CONFIG
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds RLIMIT_AS, and for others too"),
]

WITHIN = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_AS, ({size}, {size}))
sys.argv = ["autopilot", "daemon", "run"]
runpy.run_module("autopilot.daemon.cli", run_name="__main__", alter_sys=True)
"""
MIB = 1 << 20
ALL = resource.RLIM_INFINITY


def assert_ended_for_want_of_memory(daemon: Daemon, code: int, *, hint: str = "ulimit -v") -> None:
    """With 75 and a hint; a library written in Rust that is refused aborts, and nobody can catch that."""
    said = daemon.out.read_text(encoding="utf-8", errors="replace")
    assert code in {ExitCode.LATER, -signal.SIGABRT}, said
    assert ("memory allocation of" if code == -signal.SIGABRT else hint) in said, said


@pytest.mark.parametrize("size_mib", [40, 50, 60, 70, 80, 90, 100, 112, 120, 140])
def test_a_daemon_that_has_no_memory_to_start_with_ends_with_75_and_says_what_to_do(
    tmp_path: Path, size_mib: int
) -> None:
    argv = ("-c", WITHIN.format(size=size_mib * MIB))
    daemon = Daemon(tmp_path / "home", config=CONFIG, argv=argv)
    try:
        assert daemon.autopilot("add", "mend it", "--repo", "shop").returncode == ExitCode.OK
        process = daemon.start(is_awaited=False)

        def is_settled() -> bool:
            told = daemon.autopilot("status")
            is_named = told.returncode == ExitCode.LATER and "raise the limit on memory" in told.stderr
            return process.poll() is not None or is_named or f"pid {process.pid}" in told.stdout

        wait_until(is_settled, PATIENCE_S, f"it is up or has ended; {daemon.said()}")
        if (code := daemon.stop()) != ExitCode.OK:
            assert_ended_for_want_of_memory(daemon, code, hint="or raise the limit on")
        with closing(daemon.store()) as store:
            assert queue.look(store, "T-1").state is State.QUEUED
    finally:
        daemon.clean_up()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, settings="daemon = { poll_s = 1 }\n" + ENDLESS)
    with house.paths.config_file.open("a", encoding="utf-8") as file:
        file.write(NO_BREAKER)
    yield house
    house.clean_up()


def limit(pid: int, spare_bytes: int) -> None:
    """Let the process have so much more than it has now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    resource.prlimit(pid, resource.RLIMIT_AS, (pages * resource.getpagesize() + spare_bytes, ALL))


@pytest.mark.parametrize("spare_mib", [0, 1])
def test_a_night_that_has_no_memory_for_a_while_waits_or_ends_with_75_and_comes_to_one_draft(
    house: House, spare_mib: int
) -> None:
    process = house.daemon.start()
    name = house.add()
    limit(process.pid, spare_mib * MIB)
    with closing(house.daemon.store()) as store:
        writes.turn_on(store, by="test", ignore_window=True)

    def is_felt() -> bool:
        told = house.daemon.autopilot("status")
        return process.poll() is not None or told.returncode == ExitCode.LATER or "memory" in told.stdout

    wait_until(is_felt, PATIENCE_S, f"the daemon has no memory; {house.daemon.said()}")
    with suppress(ProcessLookupError):
        resource.prlimit(process.pid, resource.RLIMIT_AS, (ALL, ALL))
    lives = [process]

    def is_published(store: Store) -> bool:
        if lives[-1].poll() is not None:  # on its way out when there was memory again
            assert_ended_for_want_of_memory(house.daemon, lives[-1].returncode)
            lives.append(house.daemon.start())
        return queue.look(store, name).state is State.PUBLISHED

    with closing(house.daemon.store()) as store:
        wait_until(lambda: is_published(store), PATIENCE_S, f"it is published; {house.daemon.said()}")
        assert queue.look(store, name).attempts == 1
    assert len(lives) <= 2
    assert house.count(Event.AGENT_STARTED) == 1
    assert len(house.pull_requests()) == 1
    house.assert_in_order()
