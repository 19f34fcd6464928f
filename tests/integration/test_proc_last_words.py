"""What a program said last is heard, though somebody else still holds its pipe open."""

from __future__ import annotations

import os
from pathlib import Path

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.config.procinfo import ProcessId


def test_what_is_kept_back_for_secrets_is_heard_though_the_pipe_does_not_end(tmp_path: Path) -> None:
    heard: list[bytes] = []
    held: list[int] = []

    def hold(process: ProcessId) -> None:
        held.append(os.open(f"/proc/{process.pid}/fd/1", os.O_WRONLY))
        (tmp_path / "held").touch()

    ended = proc.run(
        ("sh", "-c", "until [ -e held ]; do sleep 0.02; done; printf x"),
        cwd=tmp_path,
        env={"PATH": os.defpath},
        output=tmp_path / "output",
        clock=SystemClock(),
        wall_s=30.0,
        secrets=("a-secret-value",),
        on_output=heard.append,
        on_start=hold,
    )
    for descriptor in held:
        os.close(descriptor)
    assert ended.ok
    assert b"".join(heard) == b"x"
    assert (tmp_path / "output").read_bytes() == b"x"
