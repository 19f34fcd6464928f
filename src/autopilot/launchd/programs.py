"""Asks a program of the init system, and gives what it said. Must not wait for it without end."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ, proc
from autopilot.config.plain import one_line, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.config.clock import Clock

_BUSES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS")
_PASSED = (*_BUSES, "XDG_CONFIG_HOME", "HOME", "USER", "LOGNAME")
_WALL_S = 20.0


@dataclass(frozen=True, slots=True)
class Answer:
    """How a program ended, and what it wrote."""

    code: int | None
    text: str
    """Standard output, and what it complained of after it."""

    @property
    def ok(self) -> bool:
        """Whether it ended with 0."""
        return self.code == 0

    @property
    def line(self) -> str:
        """Give what it said on one line."""
        return one_line(self.text) or f"it ended with {self.code} and said nothing"


def environment() -> dict[str, str]:
    """Give what the programs of an init system need of our own environment."""
    ours = environ.current()
    runtime = {"XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"}  # a `su` or cron leaves it out
    kept = {name: ours[name] for name in _PASSED if name in ours}
    return {**runtime, **kept, "PATH": environ.search_path(ours), "LANG": "C.UTF-8", "SYSTEMD_COLORS": "0"}


def ask(
    argv: Sequence[str], *, clock: Clock, env: Mapping[str, str] | None = None, wall_s: float = _WALL_S
) -> Answer:
    """Run it to its end; one that cannot be started, or takes too long, has no code."""
    with tempfile.TemporaryDirectory(prefix="autopilot-init-") as name:
        folder = Path(name)
        done = proc.run(
            argv,
            cwd=folder,
            env=environment() if env is None else env,
            output=folder / "out",
            stderr=folder / "err",
            clock=clock,
            wall_s=wall_s,
            grace_s=1.0,
        )
        if done.spawn_error:
            return Answer(None, done.spawn_error)
        told = f"{plain(done.tail, max_chars=20_000)}\n{plain(done.stderr_tail)}".strip()
        return Answer(None if done.stopped else done.code, told)
