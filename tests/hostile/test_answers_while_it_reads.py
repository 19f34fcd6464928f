"""A daemon that still reads its large queue answers that it lives, and writes nothing before it is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode, TransientError
from autopilot.schemas.events import Event
from tests.support.daemon import Daemon
from tests.support.shop import CONFIG

HELD = """
import sys
from pathlib import Path
from autopilot.daemon.cli.main import run
from autopilot.daemon.store import engine
check = engine.Store.check
def held(store):
    Path(sys.argv[1]).read_bytes()
    check(store)
engine.LARGE_BYTES, engine.Store.check = 1, held
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
        daemon.start()
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
