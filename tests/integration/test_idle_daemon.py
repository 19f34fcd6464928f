"""A daemon with nothing to do holds nothing that only work needs. Source: docs/decisions/0178."""

from __future__ import annotations

from pathlib import Path

from tests.support.daemon import Daemon
from tests.support.idle import NEEDED_LATER, loaded


def test_after_its_first_tick_an_idle_daemon_has_loaded_nothing_that_is_needed_later(tmp_path: Path) -> None:
    up = Daemon(tmp_path / "home", config="")
    up.start()  # the first of all makes the queue, with the tools of migration
    assert up.stop() == 0
    names = loaded(up)
    assert {"autopilot.daemon.loop", "structlog", "sqlalchemy"} <= set(names)
    assert NEEDED_LATER & set(names) == set()
