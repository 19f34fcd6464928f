"""How long a person waits for the command line to say anything, with the daemon up."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.bench.house import daemon
from tests.bench.measure import Bench, Finding, Row, Scale, command, interleaved, ratio

# What the installed `autopilot` script does.
CLI = (sys.executable, "-P", "-c", "from autopilot.daemon.cli.main import main; main()")
COMMANDS = {"status": (), "list": (), "add": ("a ticket of the bench",), "why": ("T-1",)}
_PASS = "python -c pass"


def _measure(scale: Scale) -> Iterator[Finding]:
    with daemon() as up:
        up.call("POST", "/v1/tickets", title="The first")
        actions = {
            verb: command([*CLI, verb, *words], environment=up.environment(), cwd=up.home)
            for verb, words in COMMANDS.items()
        }
        actions[_PASS] = command(
            [sys.executable, "-P", "-c", "pass"], environment=up.environment(), cwd=up.home
        )
        spent = interleaved(actions, scale.rounds)
    for verb in COMMANDS:
        yield ratio(f"cli {verb}", spent[verb], spent[_PASS])


BENCH = Bench(
    tuple(Row(f"cli {verb}", f"autopilot {verb}, daemon up", _PASS, "x", 4.0) for verb in COMMANDS), _measure
)
