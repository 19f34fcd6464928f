"""How many processes and threads there may be inside where no control group counts them."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.crowd import bound_threads, most_threads
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxKind, SandboxSpec
from tests.support.cells import locked_up, python, sandbox_of
from tests.support.ordinary import as_ordinary_user

pytestmark = [
    pytest.mark.needs(binary="bwrap", apt="bubblewrap"),
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap and Landlock are for Linux"),
]
# As many as there may be, and then some: it ends by itself, and none of them makes another.
SPAWNER = "i=0; while [ $i -lt 400 ]; do sleep 5 & i=$((i+1)); done; echo all of them"
LOCK_UP = """
import sys, tempfile
from dataclasses import replace
from pathlib import Path
from autopilot.runner.sandbox.bounds import Bounds
from tests.support.cells import locked_up, sandbox_of
from tests.support.clock import FakeClock
class Few(Bounds):
    threads = 60
kind, spawner = sys.argv[1:]
with tempfile.TemporaryDirectory(dir="/tmp") as place:
    sandbox = replace(sandbox_of(kind, Few(processes=1000)), cells=None)
    clock = FakeClock()  # stands still, and so does the watch
    ended = locked_up(Path(place, "cell"), ("sh", "-c", spawner), sandbox, clock=clock, grace_s=0.2)
print(ended.stopped or ended.code, ended.tail.decode())
"""
THREADS = """
import threading
for _ in range(100):
    threading.Thread(target=threading.Event().wait, args=(30,), daemon=True).start()
threading.Event().wait(30)
"""


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def kind(request: pytest.FixtureRequest) -> SandboxKind:
    found: SandboxKind = request.param
    if found == "landlock" and isinstance(open_sandbox(SandboxSpec(kind=found), SystemClock()), Missing):
        pytest.skip("this kernel has no Landlock that is new enough")
    return found


@pytest.mark.field_report("AGT-011")
@pytest.mark.parametrize("kind", ["bubblewrap"], indirect=True)
def test_the_kernel_gives_an_ordinary_user_no_more_processes_than_all_may_have(kind: SandboxKind) -> None:
    said = as_ordinary_user(LOCK_UP, kind, SPAWNER)
    assert "annot fork" in said
    assert "all of them" not in said


@pytest.mark.field_report("AGT-011")
@pytest.mark.parametrize("kind", ["landlock"], indirect=True)
def test_without_a_namespace_the_kernel_counts_from_what_there_is(kind: SandboxKind) -> None:
    code, *words = as_ordinary_user(LOCK_UP, kind, "grep 'Max processes' /proc/self/limits").split()
    now = most_threads(60, is_apart=False)
    assert now is not None
    assert (code, words[:2], words[2] == words[3]) == ("0", ["Max", "processes"], True)
    assert 60 < int(words[2]) < now + 1000


@pytest.mark.field_report("AGT-011")
def test_a_throng_of_threads_ends_with_its_reason(tmp_path: Path, kind: SandboxKind) -> None:
    sandbox = sandbox_of(kind, Bounds(processes=15))
    ended = locked_up(tmp_path / "cell", python(THREADS), sandbox, grace_s=0.2)
    assert (ended.stopped, ended.limit) == (
        "resource-limit",
        "more than 60 threads, 4 for each of [sandbox] max_processes",
    )


def test_a_limit_that_is_lower_already_stays() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            for asked, is_then in ((5000, 5000), (8000, 5000), (4000, 4000)):
                bound_threads(child.pid, asked)
                assert resource.prlimit(child.pid, resource.RLIMIT_NPROC) == (is_then, is_then)
        finally:
            child.kill()


def test_whom_nobody_finds_any_more_needs_no_limit() -> None:
    with subprocess.Popen(["true"]) as child:
        pass
    bound_threads(child.pid, 5000)
