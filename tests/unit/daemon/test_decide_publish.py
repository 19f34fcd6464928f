"""What becomes of a ticket after a publication: no outcome pays for an agent again."""

from __future__ import annotations

import pytest

from autopilot.daemon.decide_publish import LONG_DEFERRED_MS, Deferred, after_publish, deferred
from autopilot.daemon.rules import Rules
from autopilot.daemon.store.rows import HistoryEntry
from autopilot.schemas.decision import Park, PublishDecision, PublishDone, PublishLater
from autopilot.schemas.machine import State, Trigger, WaitingFor
from autopilot.schemas.publication import STOPPED, PublishOutcome, PublishVerdict, PullRequest
from tests.support import words

NOW = 1_800_000_000_000
MINUTE = 60_000
OPENED = PullRequest(number=7, url="https://forge.test/pr/7", draft=True)


def verdict(outcome: PublishOutcome, **fields: object) -> PublishVerdict:
    values: dict[str, object] = {
        "id": "T-1-a1-00000000",
        "ticket_id": "T-1",
        "run_id": "T-1-a1-00000000",
        "outcome": outcome,
        "code": outcome.value,
        "message": "said the publisher",
        "finished_ms": NOW,
    }
    return PublishVerdict.model_validate(values | fields)


NEVER = Deferred(times=0, since_ms=NOW)


def decided(
    told: PublishVerdict | None, *, tries: int = 1, losses: int = 0, before: Deferred = NEVER
) -> PublishDecision:
    return after_publish(
        told, tries=tries, losses=losses, before=before, rules=Rules(), now_ms=NOW, jitter=0.0
    )


def test_an_open_draft_is_done() -> None:
    told = verdict(PublishOutcome.PR_OPENED, pushed=words.HEAD, pr=OPENED)
    assert decided(told) == PublishDone(OPENED.url, words.HEAD, awaiting_pr=False)


def test_a_pushed_branch_that_waits_for_its_pull_request_is_done() -> None:
    told = verdict(PublishOutcome.PUSHED_AWAITING_PR, pushed=words.HEAD)
    assert decided(told) == PublishDone(None, words.HEAD, awaiting_pr=True)


def test_a_success_that_names_no_pushed_commit_is_not_believed() -> None:
    decision = decided(verdict(PublishOutcome.PR_OPENED, pr=OPENED))
    assert isinstance(decision, Park)
    assert decision.waiting_for is WaitingFor.VERIFICATION_FAILED


@pytest.mark.parametrize(
    ("tries", "retry_after_s", "wait_ms"),
    [(1, None, MINUTE), (3, None, 4 * MINUTE), (1, 600.0, 10 * MINUTE), (40, 5.0, 30 * MINUTE)],
)
def test_a_forge_that_is_away_is_asked_again_later(
    tries: int, retry_after_s: float | None, wait_ms: int
) -> None:
    told = verdict(PublishOutcome.PUBLISH_DEFERRED, retry_after_s=retry_after_s)
    assert decided(told, tries=tries) == PublishLater(NOW + wait_ms, "said the publisher")


@pytest.mark.parametrize(
    ("times", "lasted_ms", "is_over"),
    [
        (11, LONG_DEFERRED_MS - 1, False),
        (11, LONG_DEFERRED_MS, True),
        (10, 7 * LONG_DEFERRED_MS, False),
        (94, 0, False),
        (95, 0, True),
        (95, -LONG_DEFERRED_MS, True),
    ],
)
def test_what_is_put_off_again_and_again_is_laid_before_a_person(
    times: int, lasted_ms: int, is_over: bool
) -> None:
    told = verdict(PublishOutcome.PUBLISH_DEFERRED, code="forge-rate-limit", hint="ask for a larger quota")
    decision = decided(told, before=Deferred(times, NOW - lasted_ms))
    assert isinstance(decision, Park) == is_over
    if isinstance(decision, Park):
        assert decision.waiting_for is WaitingFor.PUBLISH_DEFERRED
        assert f"put off {times + 1} times" in decision.reason
        assert "said the publisher" in decision.reason
        assert decision.hint == "ask for a larger quota; then `autopilot resume`"


def test_what_we_stopped_ourselves_is_never_laid_before_a_person_for_that() -> None:
    told = verdict(PublishOutcome.PUBLISH_DEFERRED, code=STOPPED)
    decision = decided(told, before=Deferred(1000, NOW - 30 * LONG_DEFERRED_MS))
    assert isinstance(decision, PublishLater)


@pytest.mark.parametrize(
    ("triggers", "expected"),
    [
        ([], Deferred(0, 77)),
        (["publish_later"] * 2, Deferred(2, 77)),
        (["pass", "begin_publish", "publish_later", "begin_publish", "publish_later"], Deferred(2, 0)),
        (["pass", "publish_later", "park", "resume_publish"], Deferred(0, 3)),
        (["pass", "publish_later", "park", "resume_publish", "publish_later"], Deferred(1, 3)),
    ],
)
def test_only_what_happened_since_a_person_last_had_a_say_counts(
    triggers: list[str], expected: Deferred
) -> None:
    moves = [
        HistoryEntry(
            id=n, ticket_id="T-1", trigger=Trigger(name), from_state=None, to_state=State.QUEUED,
            at_ms=n, by="test", run_id=None, reason="",
        )
        for n, name in enumerate(triggers)
    ]  # fmt: skip
    assert deferred(moves, since_ms=77) == expected


@pytest.mark.parametrize(
    ("told", "waiting_for"),
    [
        (None, WaitingFor.VERIFICATION_FAILED),
        ("verification-failed", WaitingFor.VERIFICATION_FAILED),
        ("branch-conflict", WaitingFor.BRANCH_CONFLICT),
        ("credential", WaitingFor.CREDENTIAL),
        ("configuration", WaitingFor.CONFIGURATION),
    ],
)
def test_a_refusal_is_parked_for_what_the_publisher_names(told: str | None, waiting_for: WaitingFor) -> None:
    decision = decided(verdict(PublishOutcome.VERIFICATION_FAILED, waiting_for=told, hint="mend it"))
    assert decision == Park(waiting_for, "said the publisher", "mend it")


@pytest.mark.parametrize("losses", [0, 1])
def test_a_publisher_that_died_is_started_again(losses: int) -> None:
    assert isinstance(decided(None, losses=losses), PublishLater)


def test_a_publisher_that_always_dies_is_parked() -> None:
    decision = decided(None, losses=2)
    assert isinstance(decision, Park)
    assert decision.waiting_for is WaitingFor.RUNNER_LOST
