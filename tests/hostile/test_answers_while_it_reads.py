"""A daemon that still reads its large queue answers that it lives, and writes nothing before it is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.daemon.starts import failed_starts
from autopilot.daemon.store import health
from autopilot.schemas.errors import ExitCode, TransientError
from autopilot.schemas.events import Event
from tests.support import queue
from tests.support.daemon import RUN_DAEMON, Daemon
from tests.support.shop import CONFIG

HELD = """
import sys
from pathlib import Path
from autopilot.daemon.cli.main import run
from autopilot.daemon.store import engine
check = engine.Store.check
def held(store, **given):
    Path(sys.argv[1]).read_bytes()
    check(store, **given)
engine.LARGE_BYTES, engine.Store.check = 1, held
sys.exit(run(["daemon", "run"]))
"""
READING = """
import sys, threading
from autopilot.daemon.cli.main import run
from autopilot.daemon.store import engine, health
check = engine.Store.check
def reading(store, *, is_asked_to_end=lambda: True):
    while not is_asked_to_end():
        threading.Event().wait(0.01)
    check(store, is_asked_to_end=is_asked_to_end)
engine.LARGE_BYTES, engine.Store.check, health.ASK_AFTER_STEPS = 1, reading, 1
sys.exit(run(["daemon", "run"]))
"""


@pytest.mark.field_report("DMN-049")
def test_dmn_049_while_the_structure_is_read_health_says_checking_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    go_on = tmp_path / "go-on"
    os.mkfifo(go_on)
    daemon = Daemon(tmp_path / "home", config=CONFIG, argv=("-c", HELD, str(go_on)))
    try:
        daemon.start(until="checking")
        assert daemon.call("GET", "/v1/health")["status"] == "checking"
        with pytest.raises(TransientError, match="daemon-checking"):
            daemon.call("POST", "/v1/tickets", title="Too early", repo="shop")
        names = {line["event"] for line in daemon.events()}
        assert not names & {Event.STORE_CHECKED, Event.DAEMON_READY}
        go_on.write_bytes(b"whole")
        daemon.wait_for_event(Event.DAEMON_READY)
        assert daemon.call("GET", "/v1/health")["status"] == "ok"
        assert daemon.call("POST", "/v1/tickets", title="In time", repo="shop")["ticket"]["id"] == "T-1"
        assert daemon.stop() == ExitCode.OK
    finally:
        daemon.clean_up()


def test_asked_to_end_while_it_reads_its_large_queue_it_ends_and_the_next_start_is_as_any(
    tmp_path: Path,
) -> None:
    daemon = Daemon(tmp_path / "home", config=CONFIG)
    try:
        daemon.start()
        daemon.call("POST", "/v1/tickets", title="Kept", repo="shop")
        assert daemon.stop() == ExitCode.OK
        daemon.argv = ("-c", READING)
        daemon.start(until="checking")
        assert daemon.call("GET", "/v1/health")["status"] == "checking"
        assert daemon.stop() == ExitCode.OK
        known = failed_starts(daemon.paths)
        assert known is not None
        assert (known.count, "while it read the queue" in known.reason) == (1, True)
        daemon.argv = RUN_DAEMON
        daemon.start()
        daemon.wait_for_event(Event.DAEMON_READY)
        assert daemon.ticket("T-1")["state"] == "queued"
        assert failed_starts(daemon.paths) is None
    finally:
        daemon.clean_up()


def test_a_look_through_the_structure_is_given_up_in_the_middle_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "ASK_AFTER_STEPS", 10)
    store = queue.new_store(tmp_path)
    queue.add(store)
    asked: list[bool] = []

    def is_asked() -> bool:
        asked.append(len(asked) == 2)
        return asked[-1]

    with pytest.raises(TransientError, match="check-given-up"):
        store.check(is_asked_to_end=is_asked)
    assert asked == [False, False, True]
    store.check()
    queue.add(store)
    store.close()
