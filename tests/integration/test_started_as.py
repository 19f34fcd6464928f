"""Who was started under a mark is found again by a process that did not start it."""

from __future__ import annotations

import os
from pathlib import Path

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.daemon.processes import SystemProcesses
from tests.support import agents
from tests.support.wait import wait_until

CLOCK = SystemClock()
ENV = {"PATH": os.defpath}


def test_who_was_started_under_a_mark_is_found_by_it_and_neither_its_children_nor_a_pretender(
    tmp_path: Path,
) -> None:
    mark = "T-1-a1-0badcafe"
    agent = agents.write_agent(
        tmp_path,
        "parent",
        f"""
        if os.fork() == 0:
            forever()
        inner = {{**os.environ, "AUTOPILOT_TREE": os.environ["AUTOPILOT_TREE"] + "/inner"}}
        if os.fork() == 0:
            os.setsid()
            idle = [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"]
            os.execve(idle[0], idle, inner)
        open({str(tmp_path / "there")!r}, "w").close()
        forever()
        """,
    )
    env = {**ENV, "AUTOPILOT_RUN_ID": mark}
    child = proc.spawn([str(agent.path)], cwd=tmp_path, env=env, output=tmp_path / "out")
    started = [child]
    try:
        wait_until((tmp_path / "there").exists, 60, "its children are there")
        # Until exec that child has the mark of its parent: only from here on there is one alone.
        wait_until(lambda: proc.started_as("inner") is not None, 60, "its child has a mark of its own")
        assert proc.started_as(mark) == SystemProcesses(CLOCK).find(mark) == child.id
        assert proc.started_as("T-1-a1-0badcaff") is None
        started.append(proc.spawn([str(agent.path)], cwd=tmp_path, env=env, output=tmp_path / "out"))
        wait_until(lambda: proc.started_as(mark) is None, 60, "two claim to be it")
    finally:
        proc.kill_tree(child.id, grace_s=0, clock=CLOCK, marker=mark)
        wait_until(lambda: all(one.poll() is not None for one in started), 60, "all are reaped")
    assert SystemProcesses(CLOCK).find(mark) is None
