"""How long a person waits for the command line to say anything, with the daemon up."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.measure import Row, Sample, command, interleaved
from tests.support.tree import ROOT
from tests.support.wait import wait_until

START_LIMIT_S = 30
# What the installed `autopilot` script does.
CLI = (sys.executable, "-P", "-c", "from autopilot.daemon.cli.main import main; main()")
# What `add` needs to know; nothing is launched, since the switch is off.
CONFIG = """\
[identity]
name = "Bench"
email = "bench@example.invalid"

[agents.none]
kind = "command"
argv = ["true"]

[[repo]]
name = "bench"
url = "file:///nonexistent/bench.git"
base = "main"
forge = "local"
agent = "none"
"""


def _row(*arguments: str) -> Row:
    def measure(rounds: int) -> Sample:
        with _daemon() as environment:
            home = Path(environment["AUTOPILOT_HOME"])
            cli = command([*CLI, *arguments], environment=environment, cwd=home)
            empty = command([sys.executable, "-P", "-c", "pass"], environment=environment, cwd=home)
            return interleaved(cli, empty, rounds)

    name = f"cli {arguments[0]}"
    return Row(name, f"autopilot {' '.join(arguments)}", "python -c pass", bar=4.0, measure=measure)


@contextlib.contextmanager
def _daemon() -> Iterator[dict[str, str]]:
    """A daemon with a home of its own; gives the environment that leads to it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(CONFIG, encoding="utf-8")
        environment = {**os.environ, "AUTOPILOT_HOME": str(home), "PYTHONPATH": str(ROOT / "src")}
        daemon = subprocess.Popen(
            [*CLI, "daemon", "run"], env=environment, cwd=home, stdout=subprocess.DEVNULL
        )
        try:
            wait_until((home / "state" / "control.sock").exists, START_LIMIT_S, "the daemon listens")
            yield environment
        finally:
            daemon.terminate()
            daemon.wait()


ROWS = (_row("status"), _row("add", "a ticket of the bench"))
