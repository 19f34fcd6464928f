"""How long an agent waits for the guard: a decision in the runner, and the hook's command around it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

from autopilot.config.clock import SystemClock
from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.selftest import client_command
from autopilot.runner.guard.service import GuardService
from autopilot.runner.guard.verdict import GuardContext
from tests.bench.house import folder
from tests.bench.measure import Bench, Finding, Row, Scale, interleaved, ratio
from tests.eval.guard import CORPUS, request_of, rows_of

RESIDENT, ONE_SHOT = "guard decision, resident", "guard decision, one-shot"
_LINE = "cd src && python3 -m pytest -x -q tests/test_app.py 2>&1 | tail -30"
_PASS = "python -I -S -c pass"


def _measure(scale: Scale) -> Iterator[Finding]:
    requests = [request_of(row) for row in rows_of(CORPUS / "commands.jsonl")]
    with folder() as place:
        (place / "tree" / "src").mkdir(parents=True)
        context = GuardContext(str(place / "tree"), str(place / "tmp"))
        guard = Guard(context)
        rounds = []
        for _ in range(scale.rounds):
            start = time.perf_counter()
            for request in requests:
                guard.decide(request)
            rounds.append(1000 * (time.perf_counter() - start) / len(requests))
        yield Finding(RESIDENT, tuple(rounds))
        with GuardService(context, place / "guard.sock", clock=SystemClock()) as service:
            event = json.dumps({"tool_name": "Bash", "tool_input": {"command": _LINE}}).encode()
            ask = client_command(str(service.socket))

            def run(words: tuple[str, ...]) -> object:
                return subprocess.run(words, input=event, check=True, capture_output=True, env={}, cwd=place)

            spent = interleaved(
                {
                    "ask": lambda: run(ask),
                    "pass": lambda: run((sys.executable, "-I", "-S", "-c", "pass")),
                },
                scale.rounds * 4,
            )
    yield ratio(ONE_SHOT, spent["ask"], spent["pass"])


BENCH = Bench(
    (
        Row(RESIDENT, "mean over the labelled commands, in the runner", "a limit in ms", "ms", 1.0),
        Row(ONE_SHOT, "the hook's command, to its exit code", _PASS, "x", 2.0),
    ),
    _measure,
)
