"""Where a sandbox has no loopback of its own, each run has its own port to its way out, and no other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.network.policy import Policy
from autopilot.runner.sandbox.confinement import Confinement
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.runner.way_out import WayOut, way_out
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.events import Event
from tests.support.cells import python

ASK = """
import os, socket
port = int(os.environ["HTTPS_PROXY"].rsplit(":", 1)[1])
s = socket.create_connection(("127.0.0.1", port), 10)
s.sendall(b"CONNECT example.com:443 HTTP/1.1\\r\\nHost: example.com:443\\r\\n\\r\\n")
print(s.recv(100).split(b"\\r\\n")[0].decode())
try:
    socket.create_connection(("127.0.0.1", int(os.environ["OTHER"])), 10)
except OSError as error:
    print(error.strerror)
"""


def ignore(_event: Event, _facts: Mapping[str, object]) -> None:
    """Take an event and do nothing."""


def test_two_runs_at_once_have_each_their_own_way_out_and_not_the_others(tmp_path: Path) -> None:
    sandbox = open_sandbox(SandboxSpec(kind="landlock"), SystemClock())
    if isinstance(sandbox, Missing):
        pytest.skip(sandbox.why)

    def said(way: WayOut, other: WayOut, name: str) -> list[str]:
        folder = tmp_path / name
        folder.mkdir()
        port = other.environment()["HTTPS_PROXY"].rpartition(":")[2]
        ended = run_inside(
            sandbox,
            way.opened(Confinement(cwd=folder, home=folder, writable=(folder,))),
            way.argv(python(ASK)),
            env={"PATH": os.defpath, "HOME": str(folder), "OTHER": port, **way.environment()},
            output=tmp_path / f"{name}.log",
            clock=SystemClock(),
            wall_s=60.0,
        )
        assert ended.ok, ended.tail.decode()
        return ended.tail.decode().splitlines()

    none = Policy(())
    with (
        way_out(sandbox, tmp_path / "a.sock", none, ignore) as one,
        way_out(sandbox, tmp_path / "b.sock", none, ignore) as two,
    ):
        for way, other, name in ((one, two, "one"), (two, one, "two")):
            answer, refusal = said(way, other, name)
            assert "403" in answer
            assert refusal == "Permission denied"
