"""Whatever a program tries, nothing that it has started is there when its call is over; nor what may be left.

Each leaves a process behind that holds a lock: who lives, whatever it calls itself, keeps it locked.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from autopilot.config import proc, procinfo
from autopilot.config.clock import SystemClock
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.confinement import Sandbox
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxKind, SandboxSpec
from tests.support.cells import locked_up, python, sandbox_of
from tests.support.tree import ROOT
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.needs(binary="bwrap", apt="bubblewrap"),
    pytest.mark.skipif(
        sys.platform != "linux", reason="subreapers, control groups and namespaces are Linux's"
    ),
]
_SUBREAPER: Final = 36
_PRELUDE: Final = r"""
import ctypes, fcntl, os, signal, sys, time
libc = ctypes.CDLL(None)
def hold():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    place = os.open("held", os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(place, True)
    fcntl.flock(place, fcntl.LOCK_EX)
    os.write(place, b"x")
def stay():
    signal.alarm(120)  # should the test fail
    while True:
        signal.pause()
def forget(then, name="stays", env={}):
    # by exec: what it was started with, and whose descendant it is, is gone
    os.execve(sys.executable, [name, "-I", "-S", "-c", f"source = {source!r}\nexec(source)\n{then}"], env)
def twice(act):
    if not os.fork():
        os.setsid()
        if not os.fork():
            act()
        os._exit(0)
    os.wait()
"""
_TWICE: Final = "twice(lambda: forget('hold(); stay()'))"
WAYS: Final = {
    "a child that is deaf to TERM": "if not os.fork(): hold(); stay()",
    "forked twice, in another session": "twice(lambda: (hold(), stay()))",
    "with an emptied environment": _TWICE,
    "under the name of a kernel thread": """
twice(lambda: forget("libc.prctl(15, b'kworker/0:1'); hold(); stay()", "[kworker/0:1]"))
""",
    "below an orphanage of its own": """
inner = "libc.prctl(36, 1)\\nif not os.fork(): twice(lambda: (hold(), stay()))\\nstay()"
twice(lambda: forget(inner))
""",
    "that is its starter's brother": """
pid = libc.syscall(56, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0)
if pid == 0: os.setsid(); forget("hold(); stay()")
""",
    "that has stopped itself": """
twice(lambda: forget("hold(); os.kill(os.getpid(), signal.SIGSTOP); stay()"))
""",
    "in a crowd": """
inner = "hold()\\nfor _ in range(30):\\n    if not os.fork(): os.setsid(); stay()\\nstay()"
twice(lambda: forget(inner))
""",
    "with a file of the folder mapped": """
inner = "import mmap; hold(); file = open('held', 'r+b'); mapped = mmap.mmap(file.fileno(), 0); stay()"
twice(lambda: forget(inner))
""",
}
"""How somebody tries to stay; each works, where nobody looks for it."""
FLEES: Final = """
inner = "hold()\\nuntil = time.time() + 60\\nwhile time.time() < until:\\n"
inner += "    if os.fork(): os._exit(0)\\n    os.setsid()"
twice(lambda: forget(inner))
"""
"""One that is another process each moment: who looks for it finds the one before."""
UNREADABLE: Final = "libc.prctl(4, 0)\ntwice(lambda: (hold(), stay()))"
"""One whose environment nobody but root may read: it is not dumpable."""
AS_THE_RUNNER: Final = """
import json, sys
from dataclasses import replace
from pathlib import Path
from autopilot.config import proc
from tests.support.cells import locked_up, sandbox_of
proc.adopt_orphans()
argv = tuple(json.loads(sys.argv[2]))
print(locked_up(Path(sys.argv[1]), argv, replace(sandbox_of("none"), cells=None), grace_s=0.2).code)
"""
FORGED: Final = "twice(lambda: forget('hold(); stay()', env={'AUTOPILOT_TREE': 'somebody/elses'}))"


@pytest.fixture
def adopting() -> Iterator[None]:
    """Be what the runner is: the parent of all orphans below it."""
    proc.adopt_orphans()
    yield
    ctypes.CDLL(None).prctl(_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def kind(request: pytest.FixtureRequest) -> SandboxKind:
    found: SandboxKind = request.param
    if found == "landlock" and isinstance(open_sandbox(SandboxSpec(kind=found), SystemClock()), Missing):
        pytest.skip("this kernel has no Landlock that is new enough")
    return found


@pytest.fixture(params=["by group", "by search"])
def sandbox(request: pytest.FixtureRequest, kind: SandboxKind) -> Sandbox:
    """Each kind, with a control group for each call, and without."""
    made = sandbox_of(kind, Bounds(processes=300))
    if request.param == "by search":
        return replace(made, cells=None)  # type: ignore[type-var]  # each kind is a dataclass
    if made.cells is None:
        pytest.skip("no control group of version 2 can be made here")
    return made


def program(way: str) -> tuple[str, ...]:
    """One that leaves somebody behind, and goes as soon as that one is there."""
    source = f"source = {_PRELUDE!r}\nexec(source)\n"
    wait = "\nwhile not (os.path.exists('held') and os.path.getsize('held')): time.sleep(0.005)"
    return python(f"{source}{way}{wait}")


def is_held(folder: Path) -> bool:
    """Tell whether anybody who was left behind lives."""
    with (folder / "held").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def wait_until_nobody_lives(folder: Path) -> None:
    """Wait for the kernel: whom it has killed with a namespace is gone a moment later."""
    wait_until(lambda: not is_held(folder), 20, "nobody lives")


@pytest.mark.field_report("AGT-009")
@pytest.mark.usefixtures("adopting")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_nobody_outlives_a_call(tmp_path: Path, sandbox: Sandbox, way: str) -> None:
    ended = locked_up(tmp_path / "cell", program(way), sandbox, grace_s=0.2)
    assert (ended.code, ended.survivors) == (0, ())
    assert (tmp_path / "cell" / "held").read_bytes()
    wait_until_nobody_lives(tmp_path / "cell")


@pytest.mark.field_report("AGT-009")
@pytest.mark.usefixtures("adopting")
@pytest.mark.parametrize("way", [FLEES, FORGED], ids=["another each moment", "under another's mark"])
def test_a_control_group_holds_whom_no_search_finds(tmp_path: Path, kind: SandboxKind, way: str) -> None:
    sandbox = sandbox_of(kind, Bounds(processes=300))
    if sandbox.cells is None and kind != "bubblewrap":
        pytest.skip("no control group of version 2 can be made here")
    ended = locked_up(tmp_path / "cell", program(way), sandbox, grace_s=0.2)
    assert (ended.code, ended.survivors) == (0, ())
    wait_until_nobody_lives(tmp_path / "cell")


@pytest.mark.field_report("AGT-009")
def test_an_orphan_that_lets_nobody_read_its_mark_is_ours_all_the_same(tmp_path: Path) -> None:
    is_root = os.geteuid() == 0
    powerless = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if is_root else ()
    folder = tmp_path / "cell"
    told = (sys.executable, "-c", AS_THE_RUNNER, str(folder), json.dumps(program(UNREADABLE)))
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    said = subprocess.run([*powerless, *told], env=env, capture_output=True, text=True, check=False)
    assert said.stdout == "0\n", said.stderr
    wait_until_nobody_lives(folder)


@pytest.mark.field_report("AGT-009")
@pytest.mark.usefixtures("adopting")
def test_nobody_outlives_a_call_that_was_stopped(tmp_path: Path, sandbox: Sandbox) -> None:
    folder = tmp_path / "cell"
    held = folder / "held"
    stop = lambda: "enough" if held.exists() and held.stat().st_size else None  # noqa: E731 - it fits here
    ended = locked_up(folder, program(f"{_TWICE}\nstay()"), sandbox, should_stop=stop, grace_s=0.2)
    assert ended.stopped == "enough"
    wait_until_nobody_lives(folder)


@pytest.mark.usefixtures("adopting")
def test_who_has_a_launcher_outside_start_it_is_let_to_without_a_sandbox_only(
    tmp_path: Path, kind: SandboxKind
) -> None:
    """A launcher that anybody may ask, as a user's service manager: what it starts is its own."""
    asked = tmp_path / "launcher"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as launcher:
        launcher.bind(str(asked))
        launcher.listen()
        ask = f"import socket; socket.socket(socket.AF_UNIX).connect({str(asked)!r})"
        ended = locked_up(tmp_path / "cell", python(ask), sandbox_of(kind))
    assert (ended.code == 0) is (kind == "none")


def test_each_way_leaves_somebody_behind_where_nobody_looks(tmp_path: Path) -> None:
    for number, way in enumerate(WAYS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        subprocess.run(program(way), cwd=folder, check=True, env={"PATH": os.defpath})
        assert is_held(folder), way
        wait_until(lambda folder=folder: end_of(folder), 30, "it is gone")  # type: ignore[misc]


def end_of(folder: Path) -> bool:
    """End whoever works in a folder; tells whether nobody does."""
    for pid in procinfo.all_pids():
        with suppress(OSError):
            if Path(f"/proc/{pid}/cwd").readlink() == folder:
                os.kill(pid, 9)
    return not is_held(folder)
