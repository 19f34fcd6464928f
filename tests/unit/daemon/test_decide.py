"""What becomes of a ticket after a run: every outcome, every limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.daemon import decide
from autopilot.daemon.breaker import Production
from autopilot.daemon.decide import Loss, after_run, backoff_ms
from autopilot.daemon.rules import Rules
from autopilot.schemas.decision import Cancel, Fail, Park, Pass, Release, Retry
from autopilot.schemas.gate import Verdict
from autopilot.schemas.machine import WaitingFor
from autopilot.schemas.run import CONTENTION_CODES, Outcome, RunResult, Usage
from autopilot.schemas.ticket import Ticket
from tests.support import words

NOW = 1_800_000_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE
RULES = Rules()


def decided(report: decide.RunReport, ticket: Ticket | None = None, *, jitter: float = 0.0) -> object:
    ticket = ticket or words.ticket(attempts=1, sessions=1)
    return after_run(ticket, report, rules=RULES, now_ms=NOW, jitter=jitter)


def loss(cause: decide.LossCause) -> Loss:
    return Loss("T-1-a1-00000000", 1, f"it {cause}", cause, NOW)


def test_a_green_commit_passes_with_its_head_and_base() -> None:
    assert decided(words.result()) == Pass(words.HEAD, words.BASE)


@pytest.mark.parametrize(
    "told",
    [
        words.result(gates=()),
        words.result(gates=words.gates(verdict=Verdict.FAILED)),
        words.result(gates=words.gates(verdict=Verdict.ERROR)),
        words.result(gates=words.gates(head="c" * 40)),
    ],
    ids=["no gates", "red gates", "gates that could not run", "gates of another commit"],
)
def test_a_run_that_claims_a_pass_its_ledger_does_not_hold_is_parked(told: RunResult) -> None:
    decision = decided(told)
    assert isinstance(decision, Park)
    assert decision.waiting_for is WaitingFor.BREAKER
    assert "build, test-summary, evidence" in decision.reason


@pytest.mark.parametrize("missing", ["head", "base_sha"])
def test_a_commit_without_a_name_is_tried_again(missing: str) -> None:
    assert isinstance(decided(words.result().model_copy(update={missing: None})), Retry)


PARKED = {
    Outcome.GATES_FAILED: WaitingFor.BREAKER,
    Outcome.NO_CHANGES: WaitingFor.NO_CHANGES,
    Outcome.OVER_CEILING: WaitingFor.BUDGET,
    Outcome.OVER_BUDGET: WaitingFor.BREAKER,
    Outcome.CONFIGURATION: WaitingFor.CONFIGURATION,
    Outcome.BASE_BRANCH: WaitingFor.BASE_BRANCH,
    Outcome.ASKED: WaitingFor.QUESTIONS,
}


@pytest.mark.parametrize(("outcome", "waiting_for"), PARKED.items())
def test_what_a_person_must_mend_is_parked_at_once(outcome: Outcome, waiting_for: WaitingFor) -> None:
    decision = decided(words.result(outcome))
    assert isinstance(decision, Park)
    assert (decision.waiting_for, decision.reason) == (waiting_for, f"it ended as {outcome.value}")


@pytest.mark.parametrize(
    "outcome", [Outcome.AGENT_FAILED, Outcome.STOPPED, Outcome.INFRASTRUCTURE, Outcome.AGENT_MISSING]
)
def test_the_tokens_of_a_life_count_those_of_this_run_too(outcome: Outcome) -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=500_000, cached_tokens=500_000)
    told = words.result(outcome, usage=usage)
    below = words.ticket(attempts=1, sessions=1, tokens=37_999_999)
    assert isinstance(decided(told, below), Retry | Release)
    decision = decided(told, words.ticket(attempts=1, sessions=1, tokens=38_000_000))
    assert isinstance(decision, Park)
    assert decision.waiting_for is WaitingFor.BUDGET
    assert "40000000 tokens in its life" in decision.reason
    assert "tokens_per_ticket" in decision.hint


@pytest.mark.parametrize("outcome", [Outcome.AGENT_FAILED, Outcome.TIMED_OUT, Outcome.BUG])
@pytest.mark.parametrize(("attempts", "wait_ms"), [(1, MINUTE), (2, 2 * MINUTE)])
def test_a_failed_attempt_is_tried_again_later_and_later(
    outcome: Outcome, attempts: int, wait_ms: int
) -> None:
    decision = decided(words.result(outcome), words.ticket(attempts=attempts, sessions=attempts))
    assert decision == Retry(NOW + wait_ms, f"it ended as {outcome.value}")


@pytest.mark.parametrize("outcome", [Outcome.AGENT_FAILED, Outcome.TIMED_OUT, Outcome.BUG])
def test_the_last_attempt_fails_the_ticket(outcome: Outcome) -> None:
    decision = decided(words.result(outcome, hint="look"), words.ticket(attempts=3, sessions=3))
    assert decision == Fail(f"it ended as {outcome.value} (attempt 3, the last one)", "look")


def test_a_failed_ticket_says_where_to_look_when_the_run_did_not() -> None:
    decision = decided(words.result(Outcome.AGENT_FAILED), words.ticket(attempts=3, sessions=3))
    assert isinstance(decision, Fail)
    assert "autopilot logs T-" in decision.hint


@pytest.mark.parametrize(
    ("outcome", "wait_ms"),
    [(Outcome.STOPPED, 0), (Outcome.INFRASTRUCTURE, MINUTE), (Outcome.AGENT_MISSING, MINUTE)],
)
def test_what_is_not_the_tickets_fault_uses_no_attempt(outcome: Outcome, wait_ms: int) -> None:
    assert decided(words.result(outcome)) == Release(NOW + wait_ms, f"it ended as {outcome.value}")


def test_the_tenth_release_is_the_last_one_without_a_person() -> None:
    stopped = words.result(Outcome.STOPPED)
    assert isinstance(decided(stopped, words.ticket(attempts=1, sessions=10, releases=9)), Release)
    decision = decided(stopped, words.ticket(attempts=1, sessions=11, releases=10))
    assert isinstance(decision, Park)
    assert decision.waiting_for is WaitingFor.BREAKER


@pytest.mark.parametrize("outcome", [Outcome.AGENT_FAILED, Outcome.STOPPED, Outcome.USAGE_LIMIT])
def test_a_ticket_whose_runs_are_used_up_goes_round_no_more(outcome: Outcome) -> None:
    decision = decided(words.result(outcome), words.ticket(attempts=1, sessions=15))
    assert isinstance(decision, Park)
    assert decision.waiting_for is WaitingFor.BREAKER
    assert "15 runs" in decision.reason


@pytest.mark.parametrize(
    ("told_ms", "code", "expected_ms"),
    [
        (NOW + 2 * HOUR, "usage-limit", NOW + 2 * HOUR),
        (NOW - HOUR, "usage-limit", NOW + MINUTE),
        (NOW + 30 * 24 * HOUR, "usage-limit", NOW + 6 * HOUR),
        (NOW + 5 * 24 * HOUR, "usage-limit-weekly", NOW + 5 * 24 * HOUR),
        (NOW + 30 * 24 * HOUR, "usage-limit-weekly", NOW + 8 * 24 * HOUR),
        (None, "usage-limit", NOW + HOUR),
    ],
)
def test_a_usage_limit_is_waited_out_within_reason(told_ms: int | None, code: str, expected_ms: int) -> None:
    decision = decided(words.result(Outcome.USAGE_LIMIT, resets_ms=told_ms, code=code))
    assert isinstance(decision, Release)
    assert decision.not_before_ms == expected_ms


def test_questions_go_with_the_park_and_too_many_rounds_ask_for_a_better_ticket() -> None:
    asked = words.result(Outcome.ASKED, questions=("Blue or green?",))
    first = decided(asked, words.ticket(attempts=1, sessions=1, ask_rounds=1))
    third = decided(asked, words.ticket(attempts=3, sessions=3, ask_rounds=2))
    assert isinstance(first, Park)
    assert isinstance(third, Park)
    assert (first.waiting_for, first.questions) == (WaitingFor.QUESTIONS, ("Blue or green?",))
    assert (third.waiting_for, third.questions) == (WaitingFor.MATURITY, ("Blue or green?",))


def test_no_changes_after_refused_tools_names_the_tools() -> None:
    decision = decided(words.result(Outcome.NO_CHANGES, denials=("Bash", "Edit")))
    assert isinstance(decision, Park)
    assert "the agent was refused: Bash, Edit" in decision.hint


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_cancel_that_was_asked_for_wins_over_any_outcome(outcome: Outcome) -> None:
    seen = words.ticket(attempts=1, sessions=1, cancel_requested=True)
    assert isinstance(decided(words.result(outcome), seen), Cancel)
    assert isinstance(decided(loss("died"), seen), Cancel)


def test_a_runner_that_died_is_retried_once_by_itself_then_parked() -> None:
    first = decided(loss("died"))
    second = decided(loss("died"), words.ticket(attempts=1, sessions=2, losses=1, releases=1))
    assert first == Release(NOW + MINUTE, "it died")
    assert isinstance(second, Park)
    assert second.waiting_for is WaitingFor.RUNNER_LOST


@pytest.mark.parametrize(("cause", "wait_ms"), [("reboot", 0), ("stopped", 0), ("never-started", MINUTE)])
def test_a_run_lost_with_the_machine_is_given_back(cause: decide.LossCause, wait_ms: int) -> None:
    seen = words.ticket(attempts=1, sessions=2, losses=1)
    decision = decided(loss(cause), seen)
    assert isinstance(decision, Release)
    assert decision.not_before_ms == NOW + wait_ms


@given(nth=st.integers(1, 10_000), jitter=st.floats(0, 1, exclude_max=True))
def test_the_wait_is_never_longer_than_the_cap_nor_less_than_three_quarters(nth: int, jitter: float) -> None:
    full_ms = backoff_ms(nth, RULES, 0.0)
    assert full_ms == min(60_000 * 2 ** (min(nth, 20) - 1), 1_800_000)
    assert 0.75 * full_ms <= backoff_ms(nth, RULES, jitter) <= full_ms


NOTHING = {
    Outcome.AGENT_FAILED: "agent",
    Outcome.AGENT_MISSING: "agent",
    Outcome.CREDENTIAL: "agent",
    Outcome.NO_CHANGES: "agent",
    Outcome.TIMED_OUT: "agent",
    Outcome.BASE_BRANCH: "repo",
    Outcome.CONFIGURATION: "repo",
    Outcome.INFRASTRUCTURE: "host",
    Outcome.BUG: "host",
}
SOMETHING = {Outcome.COMMITTED, Outcome.ASKED, Outcome.GATES_FAILED}


@pytest.mark.covers("B15")
@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_attempt_is_classified_as_something_nothing_or_no_evidence(outcome: Outcome) -> None:
    made = decide.production(words.result(outcome))
    if outcome in SOMETHING:
        assert made == Production(produced=True)
    elif outcome in NOTHING:
        assert (made.produced, made.failure_class, made.scope) == (False, outcome.value, NOTHING[outcome])
    else:
        assert made == Production(produced=None)


@pytest.mark.field_report("DMN-011")
@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_a_missing_program_or_sign_in_needs_no_second_failure(outcome: Outcome) -> None:
    made = decide.production(words.result(outcome))
    assert made.is_conclusive is (outcome in {Outcome.AGENT_MISSING, Outcome.CREDENTIAL})


@pytest.mark.field_report("GIT-020")
@pytest.mark.parametrize("code", sorted(CONTENTION_CODES))
def test_git_020_a_lost_race_for_a_lock_is_no_evidence_against_the_host(code: str) -> None:
    assert decide.production(words.result(Outcome.INFRASTRUCTURE, code=code)) == Production(produced=None)


@pytest.mark.parametrize(
    "code", ["git-network", "git-timeout", "git-killed", "git-disk-full", "disk-full", "machine-refused"]
)
def test_what_the_next_run_would_meet_too_counts_against_the_host(code: str) -> None:
    made = decide.production(words.result(Outcome.INFRASTRUCTURE, code=code))
    assert (made.produced, made.scope) == (False, "host")


@pytest.mark.covers("B15")
@pytest.mark.parametrize(
    ("cause", "produced"), [("died", False), ("never-started", False), ("reboot", None), ("stopped", None)]
)
def test_a_lost_run_counts_against_the_host_unless_the_machine_went_with_it(
    cause: decide.LossCause, produced: bool | None
) -> None:
    made = decide.production(loss(cause))
    assert made.produced is produced
    assert made.scope == ("host" if produced is False else None)
