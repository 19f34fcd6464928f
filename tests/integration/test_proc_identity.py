"""Who a process is, in the odd cases: a strange name, a dead leader, another system."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import proc, procinfo
from autopilot.config.clock import SystemClock
from tests.support.wait import wait_until

CLOCK = SystemClock()
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def children(tmp_path: Path) -> Iterator[list[proc.Child]]:
    started: list[proc.Child] = []
    yield started
    for child in started:
        proc.kill_tree(child.id, grace_s=0, clock=CLOCK)
        child.poll()


@ON_LINUX
@pytest.mark.parametrize("name", ["a) Z (b", "(", ") R 1 2", "new\nline", "ä"])
def test_a_strange_name_does_not_confuse_us(tmp_path: Path, children: list[proc.Child], name: str) -> None:
    program = tmp_path / name
    shutil.copy(shutil.which("sleep") or "", program)
    child = proc.spawn([str(program), "600"], cwd=tmp_path, env={}, output=tmp_path / "out")
    children.append(child)
    seen = procinfo.look(child.pid)
    assert seen is not None
    assert (seen.id, seen.parent, seen.session) == (child.id, os.getpid(), child.pid)
    assert proc.is_alive(child.id)


@ON_LINUX
def test_a_program_whose_first_thread_has_ended_is_still_alive(
    tmp_path: Path, children: list[proc.Child]
) -> None:
    code = (
        "import ctypes, os, signal, threading\n"
        "def stay():\n    open('ready', 'w').close()\n    while True: os.read(r, 1)\n"
        "r, w = os.pipe()\n"
        "threading.Thread(target=stay).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    child = proc.spawn(
        [sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, env={}, output=tmp_path / "out"
    )
    children.append(child)
    stat = Path(f"/proc/{child.pid}/stat")
    wait_until(lambda: b") Z " in stat.read_bytes(), 10, "the first thread has ended")
    assert proc.is_alive(child.id)
    assert proc.kill_tree(child.id, grace_s=0, clock=CLOCK) == 1
    assert not proc.is_alive(child.id)


def test_the_other_way_of_looking_tells_the_same(
    tmp_path: Path, children: list[proc.Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"AUTOPILOT_RUN_ID": "T-1-a1-00000000", "PATH": os.defpath}
    child = proc.spawn(["sleep", "600"], cwd=tmp_path, env=env, output=tmp_path / "out")
    children.append(child)
    here = procinfo.look(child.pid)
    monkeypatch.setattr(procinfo, "_IS_LINUX", False)
    there = procinfo.look(child.pid)
    assert here is not None
    assert there is not None
    assert (there.id.pid, there.parent, there.session) == (here.id.pid, here.parent, here.session)
    assert (there.is_zombie, proc.is_alive(there.id)) == (False, True)
    # In the middle of exec a process has no environment yet.
    marks = wait_until(lambda: procinfo.marks_of(child.pid), 30, "the child has its environment")
    assert marks == frozenset({"T-1-a1-00000000"})
    assert child.pid in procinfo.all_pids()
    assert proc.kill_tree(there.id, grace_s=1, clock=CLOCK, marker="T-1-a1-00000000") == 1
    assert (procinfo.look(0), procinfo.marks_of(2**22 + 1)) == (None, None)


def test_a_whole_call_works_the_other_way_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procinfo, "_IS_LINUX", False)
    ended = proc.run(
        ["sh", "-c", "sleep 600 & exit 3"],
        cwd=tmp_path,
        env={"PATH": os.defpath},
        output=tmp_path / "out",
        clock=CLOCK,
        wall_s=30,
    )
    assert (ended.code, ended.stopped, ended.survivors) == (3, "", ())
