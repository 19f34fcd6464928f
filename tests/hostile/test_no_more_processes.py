"""A real daemon that may start no process and no thread for a while: the reason is named, then one draft."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from autopilot.daemon.store import writes
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.house import House
from tests.support.mortality import ENDLESS, NO_BREAKER

NOBODYS = 1_000_000_000
"""The limit counts all that a user runs, and does not bind root: so somebody whom no other process is."""
RIGHTS = "+dac_override,+dac_read_search,+chown,+fowner"
AS_SOMEBODY = """
import os, sys
user, rights, *words = sys.argv[1:]
limits = ["--bounding-set=-sys_resource,-sys_admin", f"--inh-caps={rights}", f"--ambient-caps={rights}"]
who = ["--reuid", user, "--regid", user, "--clear-groups"]
os.execvp("setpriv", ["setpriv", *who, *limits, sys.executable, "-P", *words])
"""
ALLOW = """
import resource, sys
pid, kind = int(sys.argv[1]), resource.RLIMIT_NPROC
hard = resource.prlimit(pid, kind)[1]
resource.prlimit(pid, kind, (hard if sys.argv[2] == "all" else int(sys.argv[2]), hard))
"""
DAEMON = ("-m", "autopilot.daemon.cli", "daemon", "run")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def may_be_somebody() -> bool:
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("setpriv") is None:
        return False
    words = [sys.executable, "-P", "-c", AS_SOMEBODY, str(NOBODYS), RIGHTS, "-c", ""]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def folder() -> Iterator[Path]:
    """Below no closed folder of ours: access(2) asks without the rights that open it."""
    with tempfile.TemporaryDirectory(prefix="autopilot-test-") as name:
        yield Path(name)


@pytest.fixture
def house(folder: Path) -> Iterator[House]:
    """A house whose daemon runs as a user of its own."""
    if not may_be_somebody():
        why = (
            "needs Linux and root with setpriv: a limit on processes does not bind root, and counts per user"
        )
        if sys.platform == "linux" and os.environ.get("CI") == "true":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    user = str(NOBODYS + os.getpid())
    house = House(
        folder,
        settings="daemon = { poll_s = 1 }\n" + ENDLESS,
        argv=("-c", AS_SOMEBODY, user, RIGHTS, *DAEMON),
    )
    with house.paths.config_file.open("a", encoding="utf-8") as file:
        # bubblewrap refuses whoever has the rights that this user needs to see the code.
        file.write(f'{NO_BREAKER}\n[sandbox]\nkind = "none"\n')
    for path in (folder, *folder.rglob("*")):
        os.chown(path, int(user), int(user), follow_symlinks=False)
    yield house
    house.clean_up()


def allow(house: House, most: str) -> None:
    """Let the daemon run so many threads, or as many as it ever might; only its user may say so."""
    assert house.daemon.process is not None
    user, words = house.daemon.argv[2], (str(house.daemon.process.pid), most)
    subprocess.run(
        [sys.executable, "-P", "-c", AS_SOMEBODY, user, RIGHTS, "-c", ALLOW, *words],
        check=True,
        capture_output=True,
    )


@contextmanager
def without_processes(house: House) -> Iterator[None]:
    """Inside the block its daemon can start nothing: it runs more threads than it may."""
    allow(house, "1")
    try:
        yield
    finally:
        allow(house, "all")


def test_a_night_that_can_start_no_process_for_a_while_says_why_and_ends_with_one_draft(house: House) -> None:
    daemon = house.daemon.start()
    name = house.add()
    with without_processes(house), closing(house.daemon.store()) as store:
        writes.turn_on(store, by="test", ignore_window=True)
        lost = house.daemon.wait_for_event(Event.RUN_LOST, {"cause": "never-started"})
        assert "Resource temporarily unavailable" in lost["reason"]
        ticket = queue.look(store, name)
        assert ticket.state in {State.QUEUED, State.RUNNING}
        assert ticket.attempts <= 1
        assert house.count(Event.AGENT_STARTED) == 0
    assert house.daemon.wait_for_state(name, "published")["attempts"] == 1
    assert daemon.poll() is None
    assert house.count(Event.AGENT_STARTED) == 1
    assert len(house.pull_requests()) == 1
    house.assert_in_order()
