"""Who else works on this machine with the same agent is no business of the queue."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autopilot.daemon.loop import Loop
from tests.support import queue
from tests.support.shop import Stage


@pytest.mark.covers("F03")
def test_sessions_that_a_person_starts_take_no_slot(stage: Stage, tmp_path: Path) -> None:
    """The same program, in the ticket's own worktree: only what the runner starts counts."""
    program = tmp_path / "claude"
    program.symlink_to(sys.executable)
    wait = "import sys; sys.stdin.read()"
    worktree = stage.paths.worktree("T-1")
    worktree.mkdir(parents=True)
    sessions = [
        subprocess.Popen([str(program), "-c", wait], stdin=subprocess.PIPE, cwd=worktree) for _ in range(3)
    ]
    try:
        for repo in ("shop", "till"):
            queue.add(stage.store, repo=repo)
        Loop(stage.shop).tick()
        assert len(stage.run_specs()) == stage.shop.rules.max_parallel_agents == 2
        assert [session.poll() for session in sessions] == [None] * 3
    finally:
        for session in sessions:
            session.communicate()
