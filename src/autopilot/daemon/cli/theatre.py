"""Plays the demo: our own commands, as a person would type them, with the demo's folder as their home.

Must not know how the tickets should end; `demo.py` compares.
"""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Self

from autopilot.config import environ, proc
from autopilot.config.layers import ENVIRONMENT_PREFIX
from autopilot.config.paths import paths_below
from autopilot.daemon.api import client
from autopilot.daemon.cli import console, shape, starter
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.machine import MOVING_STATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from autopilot.config.clock import Clock
    from autopilot.daemon.demo.stage import Stage

WAIT_S = 240.0
POLL_S = 0.2


@contextmanager
def interruptible() -> Iterator[None]:
    """Let TERM and HUP end the play as Ctrl-C does, so that no daemon is left behind."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def environment(stage: Stage) -> dict[str, str]:
    """Give the environment of the demo's commands: the person's, without what would configure autopilot.

    The interpreter that runs us is `python3` in there: what is on PATH may be too old, or not there at all.
    """
    base = {
        name: value for name, value in environ.current().items() if not name.startswith(ENVIRONMENT_PREFIX)
    }
    path = f"{stage.programs}:{environ.search_path(base)}"
    return {**base, "PATH": path, "AUTOPILOT_HOME": str(stage.home)}


class Theatre:
    """A daemon of the demo's own; gone when the block ends, however it ends."""

    def __init__(self, stage: Stage, clock: Clock) -> None:
        """Take the stage that was built."""
        self.stage, self.clock = stage, clock
        self.paths = paths_below(stage.home)
        self.env = environment(stage)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        starter.end_daemon(self.paths, self.clock)

    def night(self) -> dict[str, Mapping[str, Any]]:
        """Queue the tickets, turn on, wait until nothing moves; give the tickets as they ended.

        Raises:
            AutopilotError: a command failed, or the night takes too long.
        """
        for ticket in self.stage.tickets:
            console.say(self.command("add", "--file", str(ticket.relative_to(self.stage.home))))
        # What a command of ours leaves behind is ended with the command: the daemon is started from here.
        starter.start_daemon(self.paths, self.env, self.clock)
        *checks, go, switched, _ = self.command("on", "--now").splitlines()
        known = sum(line.startswith("!") for line in checks)
        console.say(f"{go} ({known} things to know: autopilot doctor)\n{switched}\n")
        return self._watched()

    def _watched(self) -> dict[str, Mapping[str, Any]]:
        started_s = self.clock.monotonic_s()
        seen: dict[str, str] = {}
        pause = Event()
        while (elapsed_s := self.clock.monotonic_s() - started_s) < WAIT_S:
            tickets = client.call(self.paths.control_socket, "GET", "/v1/tickets")["tickets"]
            _tell_moves(tickets, seen, elapsed_s)
            if not any(ticket["state"] in MOVING_STATES for ticket in tickets):
                return {ticket["id"]: ticket for ticket in tickets}
            pause.wait(POLL_S)
        moving = ", ".join(f"{name} is {state}" for name, state in seen.items() if state in MOVING_STATES)
        raise AutopilotError("demo-late", f"after {WAIT_S:.0f} s: {moving}", hint=self.where)

    @property
    def where(self) -> str:
        """Say where to look when something went wrong."""
        return f"the demo's logs are in {self.paths.logs}, its runs in {self.paths.runs}"

    def command(self, *words: str) -> str:
        """Print one of our commands as a person would type it, run it, and give what it said.

        Raises:
            AutopilotError: it did not end well; what it said is in the hint.
        """
        console.say(f"$ autopilot {' '.join(words)}")
        console.flush()
        output = self.stage.home / "last-command.out"
        argv = [sys.executable, "-P", "-m", "autopilot.daemon.cli", *words]
        ended = proc.run(
            argv, cwd=self.stage.home, env=self.env, output=output, clock=self.clock, wall_s=WAIT_S
        )
        said = output.read_text(encoding="utf-8", errors="replace").rstrip()
        if not ended.ok:
            what = f"`autopilot {' '.join(words)}` did not end well"
            raise AutopilotError("demo-stopped", what, hint=f"{said}\n{self.where}")
        return said


def _tell_moves(tickets: list[dict[str, Any]], seen: dict[str, str], elapsed_s: float) -> None:
    """Print who came to a state since the last look, a line for each state; that all are queued was said."""
    moved: dict[str, list[dict[str, Any]]] = {}
    for ticket in tickets:
        if seen.get(ticket["id"], "queued") != ticket["state"]:
            moved.setdefault(ticket["state"], []).append(ticket)
        seen[ticket["id"]] = ticket["state"]
    for state, those in moved.items():
        names = ", ".join(ticket["id"] for ticket in those)
        spent = shape.usd(sum(ticket["spent_micro_usd"] for ticket in those))
        title = those[0]["title"] if len(those) == 1 else ""
        console.say(f"  {elapsed_s:5.1f} s  {names:<13} {state:<10} {spent:>7}  {title}".rstrip())
        console.flush()


def our_name() -> str:
    """Give what a person types to reach this very program: its name, or its path where PATH has another."""
    import shlex
    import shutil
    import sysconfig

    installed = Path(sysconfig.get_path("scripts")) / "autopilot"
    found = shutil.which("autopilot", path=environ.current().get("PATH"))
    if found is not None and Path(found).resolve() == installed.resolve():
        return "autopilot"
    if installed.exists():
        return shlex.quote(str(installed))
    return shlex.join([sys.executable, "-P", "-m", "autopilot.daemon.cli"])
