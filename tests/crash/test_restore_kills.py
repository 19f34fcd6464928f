"""`kill -9` during a restore: the former queue, the restored one or a refusal, never an empty one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.store import queries_tickets
from autopilot.daemon.store.engine import open_store
from tests.support import queue
from tests.support.cli import Cli
from tests.support.tree import ROOT

PROGRAM = """
import os, pathlib, signal, sys
from autopilot.daemon.cli import main
left = int(sys.argv[1])
def dying(name):
    real = getattr(pathlib.Path, name)
    def call(self, *args, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, *args, **named)
    return call
for name in ("rename", "mkdir", "chmod"):
    setattr(pathlib.Path, name, dying(name))
sys.exit(main.run(["restore"]))
"""


def queue_of(cli: Cli) -> list[str] | str:
    """The titles of the queue, or the code with which it is refused."""
    said = cli.call("list", "--json")
    if said.code:
        return str(said.error["code"])
    return [ticket["title"] for ticket in said.json()["tickets"]]


@pytest.mark.slow
@pytest.mark.field_report("DMN-025")
def test_dmn_025_a_restore_that_is_killed_at_any_step_leaves_a_queue_or_a_refusal_and_can_be_repeated(
    tmp_path: Path,
) -> None:
    seen, ended = [], False
    for step in range(1, 60):
        cli = Cli(tmp_path / f"at-{step}", config="")
        store = cli.store()
        queue.add(store, "In the backup")
        store.close()
        cli.told("backup")
        store = open_store(cli.paths.database, SystemClock())
        queue.add(store, "Added later")
        store.close()
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(step)],
            env={**cli.env, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            ended = True
            break
        assert done.returncode == -9, done.stderr
        found = queue_of(cli)
        assert found in (["In the backup", "Added later"], ["In the backup"], "database-missing"), step
        seen.append(found)
        cli.told("restore")
        assert queue_of(cli) == ["In the backup"]
        kept = list(cli.paths.state.glob("replaced-*/autopilot.db"))
        assert any(_titles(path) == ["In the backup", "Added later"] for path in kept), step
        assert not list(cli.paths.state.glob(".restore-*")), "a half-built copy was left"
    assert ended
    assert "database-missing" in seen
    assert ["In the backup", "Added later"] in seen


def _titles(path: Path) -> list[str]:
    store = open_store(path, SystemClock())
    try:
        with store.read() as conn:
            return [ticket.title for ticket in queries_tickets.tickets(conn)]
    finally:
        store.close()
