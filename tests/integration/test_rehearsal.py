"""The rehearsal: one scripted ticket through the whole machine, far from the queue, and nothing stays."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import rehearsal, remembered
from autopilot.daemon.checkup.scene import Scene
from autopilot.daemon.demo import stage
from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli
from tests.support.processes import of_home
from tests.support.repos import make_repo
from tests.support.scenes import limit, scene
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def daemons_of(folder: Path) -> list[int]:
    told = {one.pid: one.info["environ"] or {} for one in of_home(folder)}
    return [pid for pid, given in told.items() if given.get("AUTOPILOT_HOME", "").startswith(str(folder))]


def looked(home: Path) -> Scene:
    return scene(home, clock=SystemClock())


@pytest.mark.covers("C01")
def test_one_ticket_goes_from_the_queue_to_a_draft_and_nothing_is_left(tmp_path: Path) -> None:
    where = looked(tmp_path / "home")
    (line,) = rehearsal.rehearsal(where, limit(300))
    assert line.verdict == "go", line
    assert "from the queue to a draft" in line.evidence
    assert not where.paths.database.exists()
    home = remembered.place(where) / "rehearsal"
    assert [left.name for left in home.iterdir()] == [stage.MARK]
    assert of_home(tmp_path) == []
    (again,) = rehearsal.rehearsal(where, limit(1))
    assert "ago)" in again.evidence


def test_one_that_takes_too_long_is_a_no_go_and_leaves_nothing(tmp_path: Path) -> None:
    where = looked(tmp_path / "home")
    line = rehearsal.played(where, limit(0.0))
    assert line.blocks
    assert "did not come to its end" in line.evidence
    assert of_home(tmp_path) == []


def test_two_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    where = looked(tmp_path / "home")
    with stage.claimed(remembered.place(where) / "rehearsal"):
        line = rehearsal.played(where, limit(300))
    assert (line.verdict, bool(line.cure)) == ("warning", True)


def test_who_interrupts_arming_leaves_no_rehearsal_behind(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    config = (
        'default_agent = "s"\nmin_free_disk_gib = 0\nmin_free_memory_gib = 0\nmax_load_per_cpu = 0\n'
        '[agents.s]\nkind = "scripted"\n'
        f'[[repo]]\nname = "a"\npath = "{repo.remote}"\nbase = "main"\n'
    )
    cli = Cli(tmp_path / "home", config=config, env={"AUTOPILOT__CHECKUP__REHEARSE": "true"})
    stands_in = tmp_path / "home" / "state" / "checkup" / "rehearsal"
    with cli.start("on") as arming:
        wait_until(lambda: bool(daemons_of(stands_in)), 120, "the daemon of the rehearsal runs")
        arming.send_signal(signal.SIGTERM)
        arming.communicate(timeout=120)
    assert arming.returncode != ExitCode.OK
    wait_until(lambda: not of_home(stands_in), 60, "nothing of the rehearsal is left")
