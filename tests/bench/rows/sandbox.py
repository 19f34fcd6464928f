"""What a sandbox costs each program that is started in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from tests.bench.house import folder
from tests.bench.measure import Bench, Finding, Row, Scale, interleaved, ratio
from tests.support.cells import locked_up, sandbox_of

START = "sandbox start"
_PASS = (sys.executable, "-I", "-S", "-c", "pass")


def _measure(scale: Scale) -> Iterator[Finding]:
    with folder() as place:
        shut = sandbox_of("bubblewrap")
        acts: dict[str, Callable[[], object]] = {
            "shut": lambda: locked_up(place / "cell", _PASS, shut),
            "bare": lambda: _bare(place),
        }
        spent = interleaved(acts, scale.rounds * 4)
    yield ratio(START, spent["shut"], spent["bare"])


def _bare(place: Path) -> None:
    """Start it as we start programs of our own; the setting `none` has bounds too, and costs more."""
    ended = proc.run(
        _PASS, cwd=place, env={"PATH": os.defpath}, output=place / "out", clock=SystemClock(), wall_s=60
    )
    assert ended.ok, ended


BENCH = Bench(
    (Row(START, "python -I -S -c pass in bubblewrap, to its end", "the same as a child of ours", "x", 4.0),),
    _measure,
)
