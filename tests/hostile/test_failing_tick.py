"""A real daemon whose tick cannot end well: the commands say so, and stop saying so when it can again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.daemon import PATIENCE_S, Daemon
from tests.support.shop import CONFIG
from tests.support.wait import wait_until

REFUSE = """
CREATE TRIGGER holds_stand BEFORE DELETE ON holds BEGIN SELECT RAISE(ABORT, 'the holds stand'); END;
CREATE TRIGGER no_more_holds BEFORE INSERT ON holds BEGIN SELECT RAISE(ABORT, 'the holds stand'); END;
"""
LET = "DROP TRIGGER holds_stand; DROP TRIGGER no_more_holds;"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    made = Daemon(tmp_path / "home", config=CONFIG + "[daemon]\npoll_s = 15\n")
    yield made
    made.clean_up()


def change(daemon: Daemon, statements: str) -> None:
    """Let nothing, or everything again, be written about holds."""
    with closing(sqlite3.connect(daemon.paths.database, timeout=PATIENCE_S)) as raw:
        raw.executescript(statements)
    daemon.call("POST", "/v1/nudge")


def test_status_why_doctor_and_digest_tell_that_the_tick_of_a_living_daemon_fails(daemon: Daemon) -> None:
    daemon.start()
    assert daemon.autopilot("add", "mend it", "--repo", "shop").returncode == 0
    wait_until(lambda: "switch-off" in daemon.autopilot("status").stdout, PATIENCE_S, "it is held")
    change(daemon, REFUSE)
    daemon.call("POST", "/v1/switch", on=True, until_ms=1)  # it is over at once: the hold has another cause

    def trouble() -> object:
        return daemon.call("GET", "/v1/health")["trouble"]

    found = wait_until(trouble, PATIENCE_S, f"the daemon has trouble; it said {daemon.said()}")
    assert isinstance(found, dict)
    assert "the holds stand" in found["reason"]
    for words in (("status",), ("why", "T-1"), ("doctor",), ("digest",)):
        told = " ".join(daemon.autopilot(*words).stdout.split())
        assert "tick fails" in told, (words, told)
        assert "the holds stand" in told, (words, told)
    assert "held, as of before" in daemon.autopilot("status").stdout
    change(daemon, LET)
    wait_until(lambda: trouble() is None, PATIENCE_S, "the trouble is over")
    assert "tick fails" not in daemon.autopilot("status").stdout
