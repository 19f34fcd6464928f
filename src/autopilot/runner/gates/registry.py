"""The list of gates in the order they run. A new one: its file here, one line below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.gates import build, evidence, test_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autopilot.runner.gates.context import GateContext
    from autopilot.schemas.gate import GateRecord

    Check = Callable[[GateContext, tuple[GateRecord, ...]], GateRecord]

GATES: Sequence[tuple[str, Check]] = (
    (build.NAME, build.check),
    (test_summary.NAME, test_summary.check),
    (evidence.NAME, evidence.check),
)
