"""How long a person waits for the command line to say anything."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.bench.measure import Row, Sample, command, interleaved
from tests.support.tree import ROOT


def _against_empty_python(*arguments: str) -> Row:
    def measure(rounds: int) -> Sample:
        with tempfile.TemporaryDirectory() as home:
            environment = {**os.environ, "AUTOPILOT_HOME": home, "PYTHONPATH": str(ROOT / "src")}
            start = [sys.executable, "-P"]
            where = Path(home)
            cli = command(
                [*start, "-m", "autopilot.daemon.cli", *arguments], environment=environment, cwd=where
            )
            empty = command([*start, "-c", "pass"], environment=environment, cwd=where)
            return interleaved(cli, empty, rounds)

    text = " ".join(("autopilot", *arguments))
    return Row(f"cli {arguments[0]}", text, "python -c pass", bar=4.0, measure=measure)


ROWS = (_against_empty_python("--help"), _against_empty_python("status"))
