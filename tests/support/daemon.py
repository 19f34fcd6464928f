"""The real daemon as a process of its own, started, killed and started again by a test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from autopilot.config import procinfo
from autopilot.config.clock import SystemClock
from autopilot.config.journal import read_lines
from autopilot.config.paths import Paths
from autopilot.daemon.api import client
from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from tests.support import canary
from tests.support.quick import QUICK
from tests.support.stem import Sprout, Stem
from tests.support.wait import PATIENT_S, wait_until

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0
BRIEF_S = 0.01
LASTING = frozenset({"published", "parked", "failed", "cancelled"})
"""States that a ticket does not leave by itself."""

AUTOPILOT = (sys.executable, "-P", "-m", "autopilot.daemon.cli")
RUN_DAEMON = (*AUTOPILOT[2:], "daemon", "run")


class Daemon:
    """One state folder, and the daemon processes a test runs on it one after the other."""

    def __init__(
        self,
        home: Path,
        *,
        config: str,
        env: Mapping[str, str] | None = None,
        argv: Sequence[str] = RUN_DAEMON,
        has_stem: bool = False,
    ) -> None:
        """Make the home. `argv` is what Python is told to run; by default the command a person types.

        With a stem the first start has it imported what each start needs, and every start is a fork of that.
        """
        home.mkdir(parents=True, exist_ok=True)
        self.argv = argv
        self.home = home
        self.out = home / "daemon.out"
        """What the daemons write on their terminal; a test of a full disk lays it elsewhere."""
        self.paths = Paths(state=home / "state", config_file=home / "config.toml", logs=home / "logs")
        self.paths.config_file.write_text(config, encoding="utf-8")
        self.env = {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(home),
            **canary.ENVIRONMENT,
            **QUICK,
            **(env or {}),
        }
        self.code = ROOT / "src"
        """Where the program lies; a test of two versions lays another one elsewhere."""
        self.process: subprocess.Popen[bytes] | Sprout | None = None
        self.has_stem = has_stem
        self._stem: Stem | None = None

    def start(self, *, is_awaited: bool = True, until: str = "ok") -> subprocess.Popen[bytes] | Sprout:
        """Start a daemon; by default wait until it answers that it is up, or that it is at `until`."""
        with self.out.open("ab") as out:
            if self.has_stem:
                self._stem = self._stem or Stem(self.argv, self.environment(), out)
                assert self._stem.env == self.environment(), "a fork has what its stem was started with"
                self.process = self._stem.start(out)
            else:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", *self.argv],
                    cwd="/",
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
        if is_awaited:
            wait_until(lambda: self._is(until), PATIENCE_S, f"the daemon is {until}; it said: {self.said()}")
        return self.process

    def environment(self) -> dict[str, str]:
        """What this state folder's commands run with."""
        return {**self.env, "AUTOPILOT_HOME": str(self.home), "PYTHONPATH": str(self.code)}

    def autopilot(
        self, *words: str, cwd: Path | None = None, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Type a command as a person would; bytes that are no UTF-8 stand as lone surrogates."""
        return subprocess.run(
            [*AUTOPILOT, *words],
            cwd=cwd or self.home,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
            timeout=PATIENCE_S,
        )

    def _is(self, status: str) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the daemon ended with {self.process.poll()}: {self.said()}"
        with suppress(AutopilotError):
            health = client.call(self.paths.control_socket, "GET", "/v1/health")
            return (health["pid"], health["status"]) == (self.process.pid, status)
        return False

    def call(self, method: str, path: str, **body: object) -> dict[str, Any]:
        """Ask the daemon."""
        return client.call(self.paths.control_socket, method, path, body, timeout_s=PATIENCE_S)

    def ticket(self, name: str) -> dict[str, Any]:
        """The ticket as the daemon shows it."""
        shown: dict[str, Any] = self.call("GET", f"/v1/tickets/{name}")["ticket"]
        return shown

    def wait_for_state(self, name: str, *states: str, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until a ticket rests in one of these states."""

        def found() -> dict[str, Any]:
            ticket = self.ticket(name)
            return ticket if ticket["state"] in states else {}

        what = f"{name} is {' or '.join(states)}; {self.said()}"
        pause_s = PATIENT_S if set(states) <= LASTING else BRIEF_S
        return wait_until(found, timeout_s, what, longest_pause_s=pause_s)

    def events(self) -> Iterator[Mapping[str, Any]]:
        """Every line of the log, of all daemons so far."""
        yield from read_lines(self.paths.logs / "autopilot.jsonl").entries

    def wait_for_event(
        self, event: Event, facts: Mapping[str, object] | None = None, *, count: int = 1
    ) -> Mapping[str, Any]:
        """Wait until the log holds so many lines of this event with these facts; give the last."""
        wanted = facts or {}

        def found() -> list[Mapping[str, Any]]:
            lines = [line for line in self.events() if line["event"] == event]
            fitting = [line for line in lines if wanted.items() <= line.items()]
            return fitting if len(fitting) >= count else []

        return wait_until(found, PATIENCE_S, f"{event} {wanted} is logged; {self.said()}")[-1]

    def kill(self) -> None:
        """End the daemon as a power cut would: nothing of it can react."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask the daemon to end and give its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        return self.process.wait(PATIENCE_S)

    def store(self) -> Store:
        """The queue, opened beside the daemon."""
        return open_store(self.paths.database, SystemClock())

    def said(self) -> str:
        """What the daemons wrote on their terminal."""
        with suppress(OSError):
            return self.out.read_text(encoding="utf-8", errors="replace")[-3000:]
        return ""

    def live_runs(self) -> set[str]:
        """The runs of which a process still lives, found by the mark that each carries."""
        known = {folder.name for folder in self.paths.runs.glob("*")}
        return {mark for pid in procinfo.all_pids() for mark in procinfo.marks_of(pid) or () if mark in known}

    def clean_up(self) -> None:
        """Leave no process behind, whatever became of the test."""
        from autopilot.config.proc import ProcessId, kill_tree

        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._stem is not None:
            self._stem.close()
        for folder in self.paths.runs.iterdir() if self.paths.runs.is_dir() else ():
            kill_tree(ProcessId(-1, 0), grace_s=0, clock=SystemClock(), marker=folder.name)
