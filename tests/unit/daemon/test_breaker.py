"""The launch breaker as a table, and as a machine under any series of attempts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.daemon import breaker
from autopilot.daemon.breaker import Production, ScopeKind
from autopilot.daemon.rules import Rules
from autopilot.daemon.store.rows import Breaker

NOW = 1_800_000_000_000
HALF_HOUR = 1_800_000
RULES = Rules()
AGENT = Breaker(scope="agent:claude")
GOOD = Production(produced=True)
NEITHER = Production(produced=None)


def bad(kind: str = "agent-failed", scope: ScopeKind = "agent") -> Production:
    return Production(produced=False, failure_class=kind, scope=scope)


def after(row: Breaker, *series: Production, now_ms: int = NOW, run_id: str = "other") -> Breaker:
    for made in series:
        row = breaker.after_attempt(row, run_id, made, now_ms=now_ms, rules=RULES)
    return row


def opened() -> Breaker:
    return after(AGENT, bad(), bad(), bad())


@pytest.mark.covers("E01")
def test_it_opens_after_three_attempts_in_a_row_that_produced_nothing() -> None:
    assert after(AGENT, bad(), bad()).state == "closed"
    row = opened()
    assert (row.state, row.failures, row.cooldown_until_ms) == ("open", 3, NOW + HALF_HOUR)
    assert breaker.admits(row, NOW + HALF_HOUR - 1) == "refused"


@pytest.mark.covers("E01")
@pytest.mark.field_report("DMN-011")
def test_one_failure_opens_it_where_the_next_run_would_meet_the_same() -> None:
    sure = replace(bad("agent-missing"), is_conclusive=True)
    row = after(AGENT, sure)
    assert (row.state, row.failures, row.cooldown_until_ms) == ("open", 1, NOW + HALF_HOUR)
    assert after(Breaker(scope="repo:shop"), sure).state == "closed"


@pytest.mark.covers("E02")
@pytest.mark.field_report("DMN-003")
def test_a_refused_credential_is_tried_by_one_probe_before_the_long_rest() -> None:
    """Several runs that share it do not come back at once: what had begun before says nothing more."""
    refused = replace(bad("credential"), is_conclusive=True, may_be_renewed=True)
    row = after(AGENT, refused)
    assert (row.state, row.cooldown_until_ms) == ("open", NOW + 15_000)
    assert after(row, refused, run_id="begun before") == row
    probing = breaker.begin_probe(row, "probe")
    assert breaker.admits(probing, NOW + 16_000) == "refused"
    assert after(probing, GOOD, run_id="probe").state == "closed"
    row = after(probing, refused, now_ms=NOW + 20_000, run_id="probe")
    assert (row.failures, row.cooldown_until_ms) == (2, NOW + 20_000 + HALF_HOUR)
    row = after(breaker.begin_probe(row, "next"), refused, now_ms=NOW, run_id="next")
    assert row.cooldown_until_ms == NOW + 2 * HALF_HOUR


@pytest.mark.field_report("DMN-037")
@pytest.mark.parametrize("back_ms", [1, HALF_HOUR, 2 * HALF_HOUR, 24 * 2 * HALF_HOUR])
def test_a_clock_that_was_set_back_does_not_make_it_rest_longer(back_ms: int) -> None:
    row = opened()
    assert breaker.admits(row, NOW) == "refused"
    assert breaker.admits(row, NOW - back_ms) == "probe"


@pytest.mark.covers("E03")
@pytest.mark.parametrize(
    ("between", "failures"), [(GOOD, 1), (bad("timed-out"), 1)], ids=["a success", "another class"]
)
def test_only_an_unbroken_series_of_one_class_counts(between: Production, failures: int) -> None:
    row = after(AGENT, bad(), bad(), between, bad())
    assert (row.state, row.failures) == ("closed", failures)


@pytest.mark.parametrize(
    "between", [NEITHER, bad("bug", "host"), bad("base-branch", "repo")], ids=["neither", "host", "repo"]
)
def test_what_says_nothing_about_the_scope_neither_counts_nor_ends_the_series(between: Production) -> None:
    assert after(AGENT, bad(), bad(), between).failures == 2
    assert after(AGENT, bad(), bad(), between, bad()).state == "open"


@pytest.mark.covers("E02")
def test_after_the_cooldown_exactly_one_probe_is_let_through() -> None:
    row = opened()
    assert breaker.admits(row, NOW + HALF_HOUR) == "probe"
    probing = breaker.begin_probe(row, "probe")
    assert breaker.admits(probing, NOW + 100 * HALF_HOUR) == "refused"


@pytest.mark.parametrize(
    "outcome", [GOOD, bad("bug", "host")], ids=["a success", "a failure of another scope"]
)
def test_a_probe_that_does_not_repeat_the_failure_closes_it(outcome: Production) -> None:
    row = after(breaker.begin_probe(opened(), "probe"), outcome, run_id="probe")
    assert (row.state, row.failures, row.probe_run_id) == ("closed", 0, None)


def test_a_probe_with_another_failure_of_the_same_scope_closes_it_and_starts_a_new_series() -> None:
    row = after(breaker.begin_probe(opened(), "probe"), bad("timed-out"), run_id="probe")
    assert (row.state, row.failures, row.failure_class) == ("closed", 1, "timed-out")


@pytest.mark.covers("E02")
def test_each_failed_probe_doubles_the_cooldown_up_to_four_hours() -> None:
    row, waits = opened(), []
    for _ in range(5):
        row = after(breaker.begin_probe(row, "probe"), bad(), run_id="probe")
        waits.append(row.cooldown_ms // HALF_HOUR)
    assert waits == [2, 4, 8, 8, 8]


def test_a_probe_that_tells_nothing_is_made_again() -> None:
    row = after(breaker.begin_probe(opened(), "probe"), NEITHER, run_id="probe")
    assert (row.state, row.cooldown_ms) == ("open", HALF_HOUR)
    assert breaker.admits(row, NOW + HALF_HOUR) == "probe"


def test_a_failure_of_an_older_run_does_not_end_the_probe() -> None:
    probing = breaker.begin_probe(opened(), "probe")
    assert after(probing, bad(), run_id="older") == probing


@pytest.mark.parametrize("row", [opened(), breaker.begin_probe(opened(), "probe")], ids=["open", "half-open"])
def test_a_success_of_an_older_run_closes_it(row: Breaker) -> None:
    assert after(row, GOOD, run_id="older") == AGENT


@pytest.mark.covers("E04")
@pytest.mark.parametrize(
    ("scope", "kind"), [("host", "host"), ("repo:shop", "repo"), ("agent:claude", "agent")]
)
def test_each_scope_counts_its_own_kind_of_failure_only(scope: str, kind: ScopeKind) -> None:
    others: tuple[ScopeKind, ...] = ("host", "repo", "agent")
    for other in others:
        made = bad("x", other)
        row = after(Breaker(scope=scope), made, made, made)
        assert (row.state == "open") is (other == kind)


def test_a_person_closes_it() -> None:
    assert breaker.reset(opened()) == AGENT


SERIES = st.lists(st.sampled_from([GOOD, NEITHER, bad(), bad("timed-out"), bad("bug", "host")]), max_size=40)


@given(SERIES)
def test_under_any_series_it_is_open_only_after_three_of_one_class_and_never_stuck(
    series: list[Production],
) -> None:
    row, now_ms = AGENT, NOW
    for number, made in enumerate(series):
        now_ms += 60_000
        run_id = f"run-{number}"
        admission = breaker.admits(row, now_ms)
        if admission == "refused":
            assert row.cooldown_until_ms is not None
            now_ms = row.cooldown_until_ms
            assert breaker.admits(row, now_ms) == "probe"  # it always opens again by itself
            admission = "probe"
        if admission == "probe":
            row = breaker.begin_probe(row, run_id)
        before = row
        row = breaker.after_attempt(row, run_id, made, now_ms=now_ms, rules=RULES)
        assert row.state != "half-open"  # the probe has ended
        assert (row.state == "open") <= (row.failures >= 3)
        assert row.cooldown_ms <= RULES.breaker_cooldown_cap_ms
        if made.produced:
            assert row == AGENT
        assert replace(before, state=row.state).scope == row.scope
