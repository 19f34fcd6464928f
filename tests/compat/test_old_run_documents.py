"""What a runner was told and what it said before prices and phases: a new version reads it."""

from __future__ import annotations

from autopilot.schemas.run import RunResult, RunSpec
from tests.support.tree import ROOT

DOCUMENTS = ROOT / "tests" / "compat" / "documents"


def test_an_old_specification_still_loads_and_knows_no_price_and_no_budget() -> None:
    spec = RunSpec.model_validate_json((DOCUMENTS / "run-spec-1-before-prices.json").read_bytes())
    assert (spec.agent.prices, spec.limits.phase_tokens) == ({}, {})


def test_an_old_result_still_loads_and_tells_of_no_phase() -> None:
    result = RunResult.model_validate_json((DOCUMENTS / "run-result-1-before-phases.json").read_bytes())
    assert (result.phases, result.usage.known, result.usage.unpriced) == ((), True, ())
    assert result.sandbox is None
