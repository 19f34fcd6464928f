"""What a sandbox costs each program that is started in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from autopilot.runner.sandbox.confinement import Sandbox
from tests.bench.house import folder
from tests.bench.measure import Bench, Finding, Row, Scale, interleaved, ratio
from tests.support.cells import locked_up, sandbox_of

START = "sandbox start"
_PASS = (sys.executable, "-I", "-S", "-c", "pass")


def _measure(scale: Scale) -> Iterator[Finding]:
    with folder() as place:
        shut, bare = sandbox_of("bubblewrap"), sandbox_of("none")

        def start(sandbox: Sandbox) -> Callable[[], object]:
            return lambda: locked_up(place / "cell", _PASS, sandbox)

        spent = interleaved({"shut": start(shut), "bare": start(bare)}, scale.rounds * 4)
    yield ratio(START, spent["shut"], spent["bare"])


BENCH = Bench(
    (Row(START, "python -I -S -c pass in bubblewrap, to its end", "the same without a sandbox", "x", 3.0),),
    _measure,
)
