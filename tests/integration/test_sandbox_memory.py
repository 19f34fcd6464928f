"""What counts as memory where no control group counts it: what is shared counts too, and counts once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.procmem import is_more
from autopilot.runner.sandbox.bounds import Bounds
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxKind, SandboxSpec
from tests.support.cells import locked_up, python, sandbox_of
from tests.support.ordinary import as_ordinary_user

pytestmark = [
    pytest.mark.needs(binary="bwrap", apt="bubblewrap"),
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory is what psutil says"),
]
MIB = 1 << 20
_REST = "\nprint('ready', flush=True)\nimport signal\nsignal.pause()"
_FORKS = "\nfor _ in range(9):\n    if not os.fork():\n        sum(held[::4096])\n        break"
_FILL = "\nfor at in range(96):\n    held[at << 20:(at + 1) << 20] = b'x' * (1 << 20)"
TAKES = {
    "a file in memory": "import os\nfd = os.memfd_create('x')\n"
    "for _ in range(96): os.write(fd, b'x' * (1 << 20))",
    "shared memory": "import mmap, os\nheld = mmap.mmap(-1, 96 << 20)" + _FILL,
    "memory of its own": "import os\nheld = bytearray(b'x') * (96 << 20)",
}
HELD_BY_MANY = {
    "shared memory": TAKES["shared memory"] + _FORKS,
    "inherited memory": TAKES["memory of its own"] + _FORKS,
    "a file in memory": "import mmap, os\nfd = os.memfd_create('x')\nos.ftruncate(fd, 96 << 20)\n"
    "held = mmap.mmap(fd, 96 << 20)" + _FILL + _FORKS,
}
LOCK_UP = """
import sys, tempfile
from dataclasses import replace
from pathlib import Path
from autopilot.runner.sandbox.bounds import Bounds
from tests.support.cells import locked_up, python, sandbox_of
with tempfile.TemporaryDirectory(dir="/tmp") as place:
    sandbox = replace(sandbox_of("bubblewrap", Bounds(memory_bytes=64 << 20)), cells=None)
    ended = locked_up(Path(place, "cell"), python(sys.argv[1]), sandbox, grace_s=0.2)
print(ended.stopped or ended.tail.decode())
"""


@contextmanager
def running(code: str) -> Iterator[set[int]]:
    """Start a program, and give it and its children once it is at rest."""
    with subprocess.Popen(python(code + _REST), stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            for _ in range(code.count("fork") * 9 + 1):
                assert child.stdout.readline() == b"ready\n"
            yield {child.pid, *(each.pid for each in psutil.Process(child.pid).children(recursive=True))}
        finally:
            for each in psutil.Process(child.pid).children(recursive=True):
                each.kill()
            child.kill()


@pytest.mark.field_report("AGT-011")
@pytest.mark.parametrize("code", TAKES.values(), ids=TAKES)
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "none"])
def test_who_takes_more_ends_with_the_reason(tmp_path: Path, kind: SandboxKind, code: str) -> None:
    if isinstance(open_sandbox(SandboxSpec(kind=kind), SystemClock()), Missing):
        pytest.skip(f"{kind} does not work here")
    sandbox = sandbox_of(kind, Bounds(memory_bytes=64 * MIB))
    ended = locked_up(tmp_path / "cell", python(code + _REST), sandbox, grace_s=0.2)
    is_refused = b"MemoryError" in ended.tail  # by RLIMIT_DATA, which is a bound as well
    assert is_refused or (ended.stopped, ended.limit) == (
        "resource-limit",
        "more than 64 MiB of memory ([sandbox] memory_mib)",
    )
    assert not is_refused or code == TAKES["memory of its own"]


@pytest.mark.field_report("AGT-011")
@pytest.mark.parametrize("code", TAKES.values(), ids=TAKES)
def test_an_ordinary_user_sees_what_its_cells_hold(code: str) -> None:
    assert as_ordinary_user(LOCK_UP, code + _REST).split()[-1] in {"resource-limit", "MemoryError"}


@pytest.mark.parametrize("code", HELD_BY_MANY.values(), ids=HELD_BY_MANY)
def test_what_many_hold_counts_once(code: str) -> None:
    with running(code) as pids:
        assert len(pids) == 10
        assert is_more(pids, 96 * MIB)
        assert not is_more(pids, 300 * MIB), "ten Pythons, and the 96 MiB once"


def test_who_is_gone_uses_nothing() -> None:
    with running("") as pids:
        pass
    assert not is_more(pids, 0)
