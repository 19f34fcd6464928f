"""What Landlock alone leaves open and the filter of calls shuts: other ports, devices, shared memory."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.sandbox.confinement import Confinement, Sandbox
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxSpec
from tests.support.cells import locked_up, python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")


@pytest.fixture(scope="module")
def landlock() -> Sandbox:
    found = open_sandbox(SandboxSpec(kind="landlock"), SystemClock())
    if isinstance(found, Missing):
        pytest.skip(found.why)
    return found


REACH = """
import errno, socket, sys
def heard(*kind, first=None):
    s = socket.socket(socket.AF_INET, *kind)
    try:
        if first is None:
            s.settimeout(5)
            s.connect(("127.0.0.1", {port}))
        else:
            s.sendto(first, 0x20000000, ("127.0.0.1", {port}))
        return s.recv(1) == b"x"
    finally:
        s.close()
for name, kind, first in (
    ("plain", (), None), ("several paths", (socket.SOCK_STREAM, 262), None), ("first", (), b"x")
):
    try:
        print(name, heard(*kind, first=first))
    except OSError as error:
        print(name, errno.errorcode.get(error.errno, error))
"""


def test_no_other_port_is_reached_by_whatever_kind_of_stream(tmp_path: Path, landlock: Sandbox) -> None:
    folder = tmp_path / "cell"
    folder.mkdir()
    with ExitStack() as stack:
        opened, closed = (stack.enter_context(_greeter()) for _ in range(2))
        room = Confinement(
            cwd=folder, home=folder, writable=(folder,), outlet=tmp_path / "none", ports=(opened,)
        )
        said = {}
        for port in (opened, closed):
            ended = run_inside(
                landlock,
                room,
                python(REACH.format(port=port)),
                env={"PATH": os.defpath, "HOME": str(folder)},
                output=tmp_path / "said",
                clock=SystemClock(),
                wall_s=60.0,
            )
            said[port] = ended.tail.decode().splitlines()
    assert said[opened][0] == "plain True"
    assert said[closed] == ["plain EACCES", "several paths EPERM", "first EPERM"]


@contextmanager
def _greeter() -> Iterator[int]:
    """A server on the loopback that says one letter to whoever comes; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with suppress(OSError):
                while True:
                    guest, _ = server.accept()
                    with guest:
                        guest.sendall(b"x")

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("place", ["/dev/pts", "/dev/shm", "/dev/ptmx", "/dev/kmsg", "/dev/vcs", "/dev/kvm"])
def test_no_device_of_the_machine_is_read_but_those_that_programs_need(
    tmp_path: Path, landlock: Sandbox, place: str
) -> None:
    code = (
        "import os, sys\n"
        f"place = {place!r}\n"
        "try:\n    os.listdir(place) if os.path.isdir(place) else os.close(os.open(place, os.O_NONBLOCK))\n"
        "except OSError as error:\n    print(type(error).__name__)\nelse:\n    print('read')\n"
        "print(open('/dev/urandom', 'rb').read(1) != b'', open('/dev/null').read() == '')"
    )
    ended = locked_up(tmp_path / "cell", python(code), landlock)
    first, others = ended.tail.decode().splitlines()
    assert first in {"PermissionError", "FileNotFoundError"}
    assert others == "True True"


def test_no_memory_of_other_programs_is_attached(tmp_path: Path, landlock: Sandbox) -> None:
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.shmget(1, 1, 896), ctypes.get_errno())"
    )
    ended = locked_up(tmp_path / "cell", python(code), landlock)
    assert ended.tail.decode().split() == ["-1", "1"]
