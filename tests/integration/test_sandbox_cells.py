"""A control group for each call, on the real file system of this machine's groups."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autopilot.config.cgroup import Group, cell_marks, own_group
from autopilot.config.clock import SystemClock
from autopilot.config.proc import kill_tree
from autopilot.config.procinfo import look
from autopilot.daemon.processes import NOBODY
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.cells import Cells
from tests.support.tree import ROOT
from tests.support.wait import wait_until

MARK = "T-1-a1-00000001"
# Has a group with a process of a cleared environment in it, and leaves it as a runner does that is killed.
MAKES = """
import os, subprocess, sys
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.cells import Cells
cell = Cells.open({mark!r}).make(Bounds())
left = subprocess.Popen(["sleep", "100"], env={{}}, start_new_session=True, stdout=-3, stderr=-3)
cell.group.take(left.pid)
print(left.pid, cell.group.path, flush=True)
sys.stdin.read()
os._exit(0)
"""


@pytest.fixture
def cells() -> Cells:
    found = Cells.open(MARK)
    if found is None:
        pytest.skip("no control group of version 2 can be made here")
    return found


@contextmanager
def made(mark: str) -> Iterator[tuple[int, Path]]:
    """Let somebody else make a group, who dies at the end of the block, and give whom it has in it."""
    argv, env = (
        [sys.executable, "-c", MAKES.format(mark=mark)],
        {**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    with subprocess.Popen(argv, env=env, stdin=-1, stdout=-1, text=True) as maker:
        assert maker.stdout is not None
        pid, _, place = maker.stdout.readline().strip().partition(" ")
        yield int(pid), Path(place)


def is_alive(pid: int) -> bool:
    seen = look(pid)
    return seen is not None and not seen.is_zombie


def test_a_cell_is_named_after_its_run_and_is_gone_with_its_members(cells: Cells) -> None:
    cell = cells.make(Bounds(memory_bytes=1 << 30, processes=10, cpu_percent=50))
    assert cell is not None
    assert cell.group.path.name.startswith(f"autopilot-cell.{MARK}.")
    with subprocess.Popen(["sleep", "100"]) as child:
        cell.group.take_first_victim(child.pid)
        assert cell.group.members() == {child.pid}
        assert MARK in cell_marks(child.pid)
        assert Path(f"/proc/{child.pid}/oom_score_adj").read_text().strip() == "500"
        assert not cell.group.remove()
        cell.group.kill()
        assert child.wait() == -signal.SIGKILL
    wait_until(cell.group.remove, 10, "it is empty")


def test_what_is_in_a_runs_cell_is_found_by_the_runs_mark(cells: Cells) -> None:
    # Its maker lives: whoever else makes groups now would end and remove what a dead one had left.
    with made(MARK) as (pid, place):
        assert is_alive(pid)
        kill_tree(NOBODY, grace_s=0.0, clock=SystemClock(), marker="T-2-a1-00000001")
        assert is_alive(pid)
        kill_tree(NOBODY, grace_s=0.0, clock=SystemClock(), marker=MARK)
        wait_until(lambda: not is_alive(pid), 10, "it is gone")
        Group(place).remove()
    assert cells.base.path.exists()


def test_the_next_who_makes_groups_ends_and_removes_what_a_dead_one_left(cells: Cells) -> None:
    with made("T-9-a1-00000009") as (pid, place):
        assert is_alive(pid)
    living = cells.make(Bounds())
    assert living is not None
    wait_until(lambda: Cells.open("") and not place.exists(), 10, "it is removed")
    assert not is_alive(pid)
    assert living.group.path.exists(), "its maker lives"
    assert living.group.remove()


def test_a_group_of_somebody_elses_is_not_used(tmp_path: Path, cells: Cells) -> None:
    theirs = Group(cells.base.path / f"somebodys-{tmp_path.name}-{os.getpid()}")
    theirs.path.mkdir()
    code = "from autopilot.runner.sandbox.cells import Cells; print(Cells.open(''))"
    join = f"echo $$ >'{theirs.path}/cgroup.procs'; exec \"$@\""
    try:
        said = subprocess.run(
            ["sh", "-c", join, "-", sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        wait_until(theirs.remove, 10, "it is empty")
    assert said.stdout == "None\n"
    own = own_group()
    assert own is not None


def test_a_maker_that_counts_processes_otherwise_may_live_and_is_left_alone(cells: Cells) -> None:
    code = "import sys\nfrom autopilot.runner.sandbox.bounds import Bounds\n"
    code += "from autopilot.runner.sandbox.cells import Cells\n"
    code += "print(Cells.open('').make(Bounds()).group.path, flush=True); sys.stdin.read()"
    apart = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-c", code]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(apart, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        assert Cells.open("") is not None
        assert theirs.is_dir()
        other.communicate("")
    assert Group(theirs).remove()
    assert cells.base.path.exists()
