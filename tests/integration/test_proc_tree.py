"""Nothing that a call has started lives on: whatever it forks, detaches, hides or ignores."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.config.proctree import Tree
from tests.support import agents
from tests.support.tree import ROOT
from tests.support.wait import wait_until

CLOCK = SystemClock()
ENV = {"PATH": os.defpath}
DESERTER = """
    # Two forks, a session of its own, an emptied environment, no open file in common: only a parent that
    # adopts orphans can still find it.
    ready, done = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.set_inheritable(done, True)
            code = "import os, signal as s, sys; os.write(int(sys.argv[1]), b'x'); s.alarm(120); s.pause()"
            note(f"pid {os.getpid()}")
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code, str(done)], {})
        os._exit(0)
    os.wait()
    os.read(ready, 1)
    say("gone\\n")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for agents; what a failed test leaves alive is killed."""
    yield tmp_path
    for mark in tmp_path.glob("*.notes"):
        agents.Agent(mark.with_suffix(""), mark).end_leftovers()


def run(agent: agents.Agent, folder: Path, *, until_seen: bool = False, grace_s: float = 5) -> proc.Exit:
    """Run it to its end, or only until it has noted that it is there."""
    return proc.run(
        [str(agent.path)],
        cwd=folder,
        env=ENV,
        output=folder / "out",
        clock=CLOCK,
        wall_s=30,
        grace_s=grace_s,
        should_stop=lambda: "seen" if until_seen and agent.noted_pids() else None,
    )


def test_a_program_that_ignores_term_is_killed_after_the_grace(folder: Path) -> None:
    agent = agents.ignores_term(folder)
    ended = run(agent, folder, until_seen=True, grace_s=0.1)
    assert (ended.signal, agent.living()) == (signal.SIGKILL, [])
    assert (ended.stopped, ended.duration_s >= 0.1) == ("seen", True)


@pytest.mark.parametrize("holds_output", [True, False])
def test_nothing_lives_on_after_a_normal_end(folder: Path, holds_output: bool) -> None:
    agent = agents.leaves_grandchild(folder, holds_output=holds_output)
    ended = run(agent, folder)
    assert (ended.code, ended.stopped, ended.survivors) == (0, "", ())
    assert ended.tail == b"child left behind\n"
    assert (len(agent.noted_pids()), agent.living()) == (1, [])


@pytest.mark.field_report("AGT-010")
def test_nothing_lives_on_after_a_stop_and_no_file_grows(folder: Path) -> None:
    # Field report AGT-010: the agent under a runner that timed out went on for 35 hours.
    agent = agents.write_agent(
        folder,
        "writes-on",
        """
        import select
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
        note(f"pid {os.getpid()}")
        while True:
            note("x")
            select.select([], [], [], 0.01)
        """,
    )
    proc.run(
        [str(agent.path)],
        cwd=folder,
        env=ENV,
        output=folder / "out",
        clock=CLOCK,
        wall_s=30,
        grace_s=0.05,
        should_stop=lambda: "enough" if len(agent.noted_pids()) == 2 else None,
    )
    size = agent.mark.stat().st_size
    assert agent.living() == []
    assert agent.mark.stat().st_size == size


def test_a_child_that_stays_beside_its_parent_dies_with_it(folder: Path) -> None:
    agent = agents.leaves_grandchild(folder, stays=True)
    ended = run(agent, folder, until_seen=True, grace_s=0.1)
    assert (ended.stopped, agent.living()) == ("seen", [])


def test_orphans_that_were_ours_are_reaped(folder: Path) -> None:
    agent = agents.leaves_grandchild(folder)
    script = (
        "import sys; from pathlib import Path; from autopilot.config import proc; "
        "from autopilot.config.clock import SystemClock; "
        "assert proc.adopt_orphans() or sys.platform != 'linux'; "
        f"e = proc.run([{str(agent.path)!r}], cwd=Path('.'), env={{}}, output=Path('inner'), "
        "clock=SystemClock(), wall_s=20); import psutil; "
        "sys.exit(0 if e.ok and not psutil.Process().children() else 1)"
    )
    outer = our_python(script, folder)
    assert (outer.code, agent.living()) == (0, []), outer.tail.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
def test_a_process_that_adopts_orphans_finds_one_that_hides_everything(folder: Path) -> None:
    agent = agents.write_agent(folder, "deserter", DESERTER)
    script = (
        "import sys; from pathlib import Path; from autopilot.config import proc; "
        "from autopilot.config.clock import SystemClock; proc.adopt_orphans(); "
        f"e = proc.run([{str(agent.path)!r}], cwd=Path('.'), env={{}}, output=Path('inner'), "
        "clock=SystemClock(), wall_s=20); "
        f"note = Path({str(agent.mark)!r}).read_text().split()[-1]; "
        "sys.exit(0 if e.ok and proc.identity_of(int(note)) is None else 1)"
    )
    outer = our_python(script, folder)
    assert (outer.code, agent.living()) == (0, []), outer.tail.decode()


def our_python(script: str, folder: Path) -> proc.Exit:
    env = {**ENV, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])}
    return proc.run(
        [sys.executable, "-P", "-c", script],
        cwd=folder,
        env=env,
        output=folder / "outer",
        clock=CLOCK,
        wall_s=30,
    )


def test_two_calls_at_once_leave_each_other_alone(folder: Path) -> None:
    leaver = agents.leaves_grandchild(folder / "a")
    ends: list[proc.Exit] = []
    started = threading.Event()

    def long_call() -> None:
        ends.append(
            proc.run(
                ["sh", "-c", "setsid sleep 1.5 & wait"],
                cwd=folder,
                env={},
                output=folder / "long",
                clock=CLOCK,
                wall_s=30,
                on_start=lambda _: started.set(),
            )
        )

    thread = threading.Thread(target=long_call)
    thread.start()
    started.wait(10)
    assert run(leaver, folder).ok
    thread.join()
    assert (ends[0].code, ends[0].signal, leaver.living()) == (0, None, [])


def test_a_process_is_told_from_a_later_one_of_the_same_number(folder: Path) -> None:
    child = proc.spawn(["sleep", "600"], cwd=folder, env=ENV, output=folder / "out")
    stranger = proc.ProcessId(child.pid, child.id.started_ms - 1)
    assert (proc.is_alive(child.id), proc.is_alive(stranger)) == (True, False)
    assert proc.kill_tree(stranger, grace_s=0, clock=CLOCK) == 0
    assert proc.is_alive(child.id)
    assert proc.kill_tree(child.id, grace_s=1, clock=CLOCK) == 1
    assert wait_until(child.poll, 30, "the child is reaped") == -signal.SIGTERM


def test_a_zombie_is_not_alive(folder: Path) -> None:
    child = proc.spawn(["true"], cwd=folder, env=ENV, output=folder / "out")
    wait_until(lambda: not proc.is_alive(child.id), 30, "the child has ended")
    assert Path(f"/proc/{child.pid}").exists() or sys.platform != "linux"
    assert proc.identity_of(child.pid) is None
    assert child.poll() == 0


def test_our_own_process_is_alive_and_number_zero_is_nobody() -> None:
    own = proc.identity_of(os.getpid())
    assert own is not None
    assert proc.is_alive(own)
    assert proc.identity_of(0) is None


def test_a_spawned_program_appends_its_output_and_has_its_own_session(folder: Path) -> None:
    (folder / "out").write_text("before\n")
    code = "import os; print(os.getsid(0) == os.getpid(), os.read(0, 1))"
    child = proc.spawn([sys.executable, "-I", "-c", code], cwd=folder, env=ENV, output=folder / "out")
    assert wait_until(lambda: child.poll() is not None, 10, "the child has ended")
    assert (folder / "out").read_text() == "before\nTrue b''\n"


def test_a_program_that_cannot_be_spawned_is_an_error_that_says_why(folder: Path) -> None:
    with pytest.raises(proc.SpawnError, match="no-such-program") as caught:
        proc.spawn(["no-such-program"], cwd=folder, env=ENV, output=folder / "out")
    assert caught.value.code == "spawn-failed"


def test_what_a_dead_runner_left_behind_is_found_by_its_run_id(folder: Path) -> None:
    agent = agents.write_agent(
        folder,
        "leaves-and-dies",
        """
        import select
        ready, done = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                note(f"pid {os.getpid()}")
                os.write(done, b"x")
                forever()
            os._exit(0)
        os.read(ready, 1)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    env = {**ENV, "AUTOPILOT_RUN_ID": "T-1-a1-0badcafe"}
    child = proc.spawn([str(agent.path)], cwd=folder, env=env, output=folder / "out")
    wait_until(lambda: child.poll() is not None, 10, "the runner is dead")
    assert len(agent.living()) == 1
    assert proc.kill_tree(child.id, grace_s=1, clock=CLOCK, marker="T-1-a1-0badcaff") == 0
    assert proc.kill_tree(child.id, grace_s=1, clock=CLOCK, marker="T-1-a1-0badcafe") == 1
    assert agent.living() == []


def test_an_inner_call_carries_the_outer_mark_too(folder: Path) -> None:
    script = (
        "from pathlib import Path; from autopilot.config import proc; "
        "from autopilot.config.clock import SystemClock; "
        "e = proc.run(['env'], cwd=Path('.'), env={}, output=Path('inner'), clock=SystemClock(), wall_s=20); "
        "print(e.tail.decode())"
    )
    marks = our_python(script, folder).tail.decode().strip().removeprefix("AUTOPILOT_TREE=").split("/")
    assert len(marks) == 2


@pytest.mark.parametrize("nobody", [0, -1])
def test_a_tree_of_nobody_is_empty_and_not_the_session_of_the_first_process(nobody: int) -> None:
    assert Tree(proc.ProcessId(nobody, 0), mark=None).look(thoroughly=True) == []


def test_killing_a_tree_never_touches_the_killer_itself(folder: Path) -> None:
    script = (
        "import os; from autopilot.config import proc; from autopilot.config.clock import SystemClock; "
        "own = proc.identity_of(os.getpid()); mark = os.environ['AUTOPILOT_TREE']; "
        "print(proc.kill_tree(own, grace_s=0, clock=SystemClock(), marker=mark))"
    )
    assert our_python(script, folder).tail == b"0\n"
