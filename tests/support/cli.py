"""The command line as a person uses it: a process of its own, with a home of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autopilot.config.clock import SystemClock
from autopilot.config.paths import Paths, paths_below
from autopilot.daemon.cli import main
from autopilot.daemon.store import writes
from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from tests.support import canary, queue, template
from tests.support.quick import QUICK
from tests.support.tree import ROOT

COMMAND = (sys.executable, "-P", "-m", "autopilot.daemon.cli")
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
TIMEOUT_S = 100.0
BIDI = "\u202e"
ESCAPE = "\x1b[2J"


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401 - each command has a shape of its own
        """Its standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error it told as JSON."""
        told: dict[str, Any] = self.json()["error"]
        return told


class Cli:
    """One home, and commands run on it one after the other."""

    def __init__(
        self, home: Path, *, config: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self.paths: Paths = paths_below(home)
        self.env = {
            "PATH": SYSTEM_PATH,
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "AUTOPILOT_HOME": str(home),
            "PYTHONPATH": str(ROOT / "src"),
            **canary.ENVIRONMENT,
            **QUICK,
            **(env or {}),
        }
        if config is not None:
            self.paths.config_file.write_text(config, encoding="utf-8")

    def run(
        self,
        *words: str | bytes,
        stdin: str | bytes = b"",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Said:
        """Run one command to its end."""
        done = subprocess.run(
            [*COMMAND, *words],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            cwd=cwd or self.home,
            env={**self.env, **(env or {})},
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return _said(done.returncode, done.stdout, done.stderr)

    def call(self, *words: str, stdin: str = "") -> Said:
        """Run one command in this process: what a test of many cases can afford."""
        given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        out, err = io.BytesIO(), io.BytesIO()
        streams = [io.TextIOWrapper(buffer, encoding="utf-8", write_through=True) for buffer in (out, err)]
        before = dict(os.environ), sys.stdin
        os.environ.clear()
        os.environ.update(self.env)
        sys.stdin = given
        try:
            with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
                code = main.run(words)
        finally:
            os.environ.clear()
            os.environ.update(before[0])
            sys.stdin = before[1]
        return _said(code, out.getvalue(), err.getvalue())

    def ok(self, *words: str, cwd: Path | None = None, stdin: str = "") -> str:
        """Run a command that must end well; gives what it wrote."""
        said = self.run(*words, cwd=cwd, stdin=stdin)
        assert said.code == 0, said
        return said.out

    def told(self, *words: str, stdin: str = "") -> str:
        """Run a command in this process that must end well; gives what it wrote."""
        said = self.call(*words, stdin=stdin)
        assert said.code == 0, said
        return said.out

    def start(self, *words: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        """Start a command and leave it running."""
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def store(self) -> Store:
        """The queue, opened beside the commands."""
        template.lay(self.paths.ensure().database)
        return open_store(self.paths.database, SystemClock())


def _said(code: int, out: bytes, err: bytes) -> Said:
    """What a command wrote, in which no secret of the person may stand."""
    said = Said(code, out.decode(), err.decode())
    assert not canary.holds(said.out + said.err), "a command tells a secret of the person's environment"
    return said


def fill(cli: Cli) -> None:
    """Queue tickets that rest in every state that needs no process: T-1 published, T-2 parked with a
    question, T-3 failed, T-4 cancelled, T-5 waiting for T-3, T-6 with a title that would drive a terminal.
    """
    store = cli.store()
    try:
        writes.turn_on(store, by="test", ignore_window=True)
        queue.publish(store, queue.commit(store, queue.add(store, "Mend the login")))
        asked = queue.claim(store, queue.add(store, "Show prices"))
        question = f"Which currency{BIDI}?"
        queue.end(store, asked, queue.result(asked, Outcome.ASKED, questions=(question,)))
        failing = queue.add(store, "Count the stars")
        while queue.look(store, failing.id).state is not State.FAILED:
            claimed = queue.claim(store, queue.look(store, failing.id))
            queue.end(store, claimed, queue.result(claimed, Outcome.AGENT_FAILED, message=f"gave{ESCAPE} up"))
        queue.add(store, "Not needed")
        queue.add(store, "Print the stars", depends_on=("T-3",), body=f"Body {ESCAPE}\nsecond line")
        queue.add(store, f"Turn{BIDI} around", priority=0)
        writes.turn_off(store, by="test")
    finally:
        store.close()
    cli.told("cancel", "T-4")
