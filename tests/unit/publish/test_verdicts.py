"""Every end of a publication has exactly one verdict."""

import errno

import pytest

from autopilot.publish import verdicts
from autopilot.publish.stops import CredentialError, Stop, WaitingFor
from autopilot.publish.verdicts import Story
from autopilot.schemas.errors import ConfigError, TransientError
from autopilot.schemas.publication import CheckLine, PublishOutcome
from tests.unit.publish.builders import HEAD, pull_request, spec

PUSHED = Story(spec=spec(), now_ms=5, pushed=HEAD, base_behind=2)


def story(*failed: str) -> Story:
    names = ("repository", "branch", "staging", "secrets")
    lines = tuple(
        CheckLine(
            check=name, passed=name not in failed, reasons=(f"{name} is wrong",) if name in failed else ()
        )
        for name in names
    )
    return Story(spec=spec(), now_ms=5, checks=lines)


@pytest.mark.covers("N42")
def test_an_open_draft_is_told_with_its_number_and_what_was_pushed() -> None:
    verdict = verdicts.opened(PUSHED, pull_request(), code="opened")
    assert (verdict.outcome, verdict.pushed, verdict.base_behind) == (PublishOutcome.PR_OPENED, HEAD, 2)
    assert verdict.pr == pull_request()
    assert verdict.message == "draft 7 is open: https://forge.example/o/r/pull/7"


def test_a_merged_one_is_not_called_open() -> None:
    verdict = verdicts.opened(PUSHED, pull_request(state="merged", draft=False), code="already-merged")
    assert verdict.message == "pull request 7 was merged already"


@pytest.mark.covers("N15")
@pytest.mark.parametrize(
    ("failed", "code", "waits_for"),
    [
        (("secrets",), "check-secrets", "verification-failed"),
        (("branch", "secrets"), "check-branch", "verification-failed"),
        (("repository",), "check-repository", "configuration"),
        (("repository", "staging"), "check-repository", "verification-failed"),
    ],
)
def test_failed_checks_have_one_verdict_that_names_them_all(
    failed: tuple[str, ...], code: str, waits_for: str
) -> None:
    verdict = verdicts.refused(story(*failed))
    assert verdict.outcome is PublishOutcome.VERIFICATION_FAILED
    assert (verdict.code, verdict.waiting_for, verdict.pushed) == (code, waits_for, None)
    assert verdict.message == f"not published: {', '.join(failed)}"
    assert all(f"{name} is wrong" in verdict.hint for name in failed)


@pytest.mark.parametrize("asked_s", [None, 120.0])
def test_what_passes_by_itself_is_deferred_with_the_time_that_was_named(asked_s: float | None) -> None:
    verdict = verdicts.ended(PUSHED, TransientError("forge-unavailable", "away", retry_after_s=asked_s))
    assert (verdict.outcome, verdict.retry_after_s) == (PublishOutcome.PUBLISH_DEFERRED, asked_s)
    assert (verdict.waiting_for, verdict.pushed) == (None, HEAD)


@pytest.mark.parametrize(
    "waits_for", ["verification-failed", "branch-conflict", "credential", "configuration"]
)
def test_what_a_person_must_do_says_what_the_ticket_waits_for(waits_for: WaitingFor) -> None:
    stop = Stop("some-code", "what happened", waiting_for=waits_for, hint="do this", pr=pull_request())
    verdict = verdicts.ended(PUSHED, stop)
    assert (verdict.waiting_for, verdict.code, verdict.hint) == (waits_for, "some-code", "do this")
    assert verdict.pr == pull_request()


def test_a_credential_that_cannot_be_read_is_what_the_ticket_waits_for() -> None:
    verdict = verdicts.ended(PUSHED, CredentialError("credential-missing", "not there", hint="store it"))
    assert (verdict.outcome, verdict.waiting_for) == (PublishOutcome.VERIFICATION_FAILED, "credential")
    assert (verdict.code, verdict.hint) == ("credential-missing", "store it")


@pytest.mark.covers("N14")
def test_without_drafts_the_pushed_branch_awaits_a_person() -> None:
    stop = Stop("draft-unsupported", "no drafts", waiting_for="configuration")
    assert verdicts.ended(PUSHED, stop).outcome is PublishOutcome.PUSHED_AWAITING_PR
    not_pushed = Story(spec=spec(), now_ms=5)
    assert verdicts.ended(not_pushed, stop).outcome is PublishOutcome.VERIFICATION_FAILED


def test_a_surprise_names_its_kind_but_not_its_words() -> None:
    verdict = verdicts.broken(PUSHED, ValueError("perhaps a token"))
    assert (verdict.code, verdict.outcome) == ("bug", PublishOutcome.VERIFICATION_FAILED)
    assert "ValueError" in verdict.message
    assert "token" not in verdict.model_dump_json().replace("claim_token", "")


def test_an_error_of_another_room_waits_for_the_configuration() -> None:
    verdict = verdicts.ended(PUSHED, ConfigError("some-code", "broken", hint="mend it"))
    assert (verdict.code, verdict.waiting_for, verdict.hint) == ("some-code", "configuration", "mend it")


def test_a_full_disk_is_no_bug_and_no_persons_work_but_tried_again() -> None:
    verdict = verdicts.broken(PUSHED, OSError(errno.ENOSPC, "No space left on device"))
    assert (verdict.outcome, verdict.code) == (PublishOutcome.PUBLISH_DEFERRED, "disk-full")
    assert verdict.hint == "free disk space"


def test_want_of_memory_is_no_bug_and_no_persons_work_but_tried_again() -> None:
    verdict = verdicts.broken(PUSHED, MemoryError())
    assert (verdict.outcome, verdict.code) == (PublishOutcome.PUBLISH_DEFERRED, "memory-short")
    assert "ulimit -v" in verdict.hint


def test_a_publisher_that_may_not_even_watch_its_lease_comes_back() -> None:
    error = TransientError("thread-unstarted", "no thread", hint="raise the limit")
    verdict = verdicts.broken(PUSHED, error)
    assert (verdict.outcome, verdict.code) == (PublishOutcome.PUBLISH_DEFERRED, "thread-unstarted")


@pytest.mark.field_report("DMN-019")
def test_what_parts_of_two_programs_have_against_a_commit_is_for_the_next_publisher_to_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    against, opened = (
        verdicts.refused(story("secrets")),
        verdicts.opened(PUSHED, pull_request(), code="opened"),
    )
    monkeypatch.setenv("AUTOPILOT_PROGRAM", "")
    assert [verdicts.by_one_program(PUSHED, verdict) for verdict in (against, opened)] == [against, opened]
    monkeypatch.setenv("AUTOPILOT_PROGRAM", "autopilotd-0.dist-info:1:1:1")
    later = verdicts.by_one_program(PUSHED, against)
    assert (later.outcome, later.code) == (PublishOutcome.PUBLISH_DEFERRED, "program-replaced")
    assert verdicts.by_one_program(PUSHED, opened) == opened
