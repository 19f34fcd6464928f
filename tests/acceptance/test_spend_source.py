"""Where a run's dollars come from: tokens times their price, and a model without one is never free."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import MakePerson
from tests.support.person import Steps
from tests.support.small_project import small_repo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PRICES = {
    "house": {
        "input_usd_per_mtok": 4,
        "output_usd_per_mtok": 20,
        "cache_read_usd_per_mtok": 0.2,
        "cache_write_usd_per_mtok": 8,
    }
}


def using(model: str) -> Steps:
    """Mends the project and tells tokens of a model, and no cost."""
    spend = {"model": model, "input_tokens": 100_000, "output_tokens": 10_000, "cache_read_tokens": 50_000}
    return [
        {"only_tokens": True},
        {"spend": spend},
        {"write": {"path": "answer.txt", "text": "right\n"}},
    ]


@pytest.mark.covers("F04")
def test_tokens_are_charged_at_their_price_and_those_without_one_at_the_whole_reservation(
    make_person: MakePerson, tmp_path: Path
) -> None:
    person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")},
        agents={"priced": using("house-20260101"), "unpriced": using("nobody-knows")},
        run_ceiling_usd=3,
        prices=PRICES,
    )
    person.begins()
    priced = person.adds("Mend it")
    assert person.waits(priced)["spent_micro_usd"] == 610_000
    (attempt,) = person.asks("show", priced)["attempts"]
    assert attempt["spend_known"] is True
    (phase,) = attempt["phases"]
    assert (phase["phase"], phase["cost_micro_usd"]) == ("dev", 610_000)
    tokens = [phase[key] for key in ("input_tokens", "output_tokens", "cached_tokens")]
    assert tokens == [100_000, 10_000, 50_000]
    shown = person.does("show", priced)
    assert "100,000" in shown
    assert "prices" not in shown
    unpriced = person.adds("--agent=unpriced", "Mend it again")
    assert person.waits(unpriced)["spent_micro_usd"] == 3_000_000, "its whole reservation"
    shown = person.does("show", unpriced)
    assert "(unknown)" in shown
    assert '[prices."nobody-knows"]' in shown
    digest = person.does("digest")
    assert "phase dev: $0.61 or more, 200,000 tokens in, 20,000 out, 100,000 from cache" in digest
    assert "nobody-knows" in digest


@pytest.mark.covers("F05", "E18", "F06")
def test_a_phase_that_passes_its_token_budget_is_stopped_while_it_works_and_resumes_with_a_larger_one(
    make_person: MakePerson, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    hungry: Steps = [
        {"write": {"path": "answer.txt", "text": "right\n"}},
        {"spend": {"usd": 0.1, "input_tokens": 40_000, "output_tokens": 5_000, "cache_read_tokens": 900_000}},
        {"spend": {"usd": 0.1, "input_tokens": 6_000}},
        {"wait_for_file": str(go)},
    ]
    person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")},
        agents={"hungry": hungry},
        phase_budgets={"dev_tokens": 50_000},
    )
    person.begins()
    name = person.adds("Mend it")
    ticket = person.waits(name)
    assert (ticket["state"], ticket["waiting_for"], ticket["sessions"]) == ("parked", "breaker", 1)
    assert "the phase dev has passed its token budget: 51000 of 50000 tokens" in ticket["reason"]
    assert "dev_tokens in [phase_budgets], for instance to 100000" in ticket["hint"]
    assert f"autopilot resume {name}" in ticket["hint"]
    assert person.daemon.live_runs() == set()
    assert ticket["spent_micro_usd"] == 200_000, "what it had told is charged"
    (folder,) = person.run_folders(name)
    tripped = json.loads((folder / "agent-state.json").read_bytes())["circuitBreaker"]
    assert (tripped["tripped"], tripped["trigger"], tripped["checkpoint"]["phase"]) == (True, 4, 2)
    person.changes(phase_budgets={"dev_tokens": 100_000})
    go.touch()
    person.does("resume", name)
    assert person.waits(name)["state"] == "published"
