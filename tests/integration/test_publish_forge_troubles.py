"""A forge or a remote that fails, refuses or loses answers: deferred or told, never opened twice."""

import json
from pathlib import Path

import pytest

from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.faults import CREATE_PULL, PUSH, Fault
from tests.support.forge.server import Forge
from tests.support.gitcmd import git
from tests.support.github_publication import deliver, github_publication, publish, told
from tests.support.publication import BRANCH, Publication
from tests.support.publisher import run_publisher

FIND = r"GET /repos/o/r/pulls$"
BRANCH_STATE = r"GET /repos/o/r/branches/"


@pytest.fixture
def forge(make_forge: MakeForge) -> Forge:
    return make_forge()


@pytest.fixture
def publication(forge: Forge, tmp_path: Path) -> Publication:
    return github_publication(forge, tmp_path)


@pytest.mark.parametrize(
    "fault",
    [
        faults.lost_answer(),
        faults.late_error(),
        faults.late_error(status=504),
        Fault(CREATE_PULL, 200, {}, after=True),
    ],
    ids=["lost", "502", "504", "no body"],
)
def test_an_answer_that_got_lost_is_looked_up_and_nothing_is_opened_twice(
    forge: Forge, publication: Publication, fault: Fault
) -> None:
    forge.fail_next(fault)
    done = deliver(publication, forge)
    assert done.verdict["outcome"] in {"pr-opened", "publish-deferred", "verification-failed"}
    assert told(deliver(publication, forge))[0] == "pr-opened"
    assert len(forge.pulls.all("o/r")) == 1


@pytest.mark.parametrize("fault", [faults.lost_answer(), faults.late_error()])
def test_work_that_was_done_in_spite_of_an_error_counts_at_once(
    forge: Forge, publication: Publication, fault: Fault
) -> None:
    forge.fail_next(fault)
    assert told(deliver(publication, forge)) == ("pr-opened", "opened", None)


@pytest.mark.parametrize(
    "fault",
    [
        faults.server_error(CREATE_PULL, status=500),
        faults.dropped(CREATE_PULL),
        faults.server_error(FIND, status=503),
        faults.not_json(FIND),
        faults.server_error(BRANCH_STATE),
    ],
)
def test_a_forge_that_is_away_defers_and_the_next_try_finishes(
    forge: Forge, publication: Publication, fault: Fault
) -> None:
    forge.fail_next(fault)
    done = deliver(publication, forge)
    assert told(done)[0] == "publish-deferred"
    assert done.verdict["retry_after_s"] is None  # the daemon backs off
    assert told(deliver(publication, forge))[0] == "pr-opened"
    assert len(forge.pulls.all("o/r")) == 1


def test_a_push_that_is_away_defers_and_the_next_try_finishes(forge: Forge, publication: Publication) -> None:
    forge.fail_next(faults.server_error(PUSH, status=503))
    assert told(deliver(publication, forge))[0] == "publish-deferred"
    assert told(deliver(publication, forge))[0] == "pr-opened"


def test_a_push_whose_answer_got_lost_counts_as_pushed(forge: Forge, publication: Publication) -> None:
    forge.fail_next(faults.lost_answer(PUSH))
    done = deliver(publication, forge)
    assert told(done) == ("pr-opened", "opened", None)
    assert forge.repositories.tip("o/r", BRANCH) == publication.head


@pytest.mark.parametrize(
    ("fault", "least_s", "most_s"),
    [
        (faults.secondary_rate_limited(CREATE_PULL, retry_after_s=120), 120, 120),
        (faults.secondary_rate_limited(FIND, retry_after_s=7, status=429), 7, 7),
        (faults.rate_limited(FIND, reset_epoch_s=1), 1, 1),
        (faults.rate_limited(FIND, reset_epoch_s=99_999_999_999), 21_600, 21_600),
        (Fault(FIND, 403, {"message": "You have exceeded a secondary rate limit"}), 60, 60),
    ],
)
def test_a_rate_limit_defers_until_the_time_that_the_forge_names(
    forge: Forge, publication: Publication, fault: Fault, least_s: float, most_s: float
) -> None:
    forge.fail_next(fault)
    done = deliver(publication, forge)
    assert told(done) == ("publish-deferred", "forge-rate-limit", None)
    assert least_s <= done.verdict["retry_after_s"] <= most_s
    assert forge.pulls.all("o/r") == []


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (faults.forbidden(CREATE_PULL), "forge-refused-credential"),
        (faults.bad_credentials(FIND), "forge-refused-credential"),
        (Fault(FIND, 404, {"message": "Not Found"}), "forge-not-found"),
        (faults.bad_credentials(r"GET /o/r\.git/info/refs"), "remote-refused-credential"),
    ],
)
def test_a_token_that_is_not_accepted_waits_for_a_credential(
    forge: Forge, publication: Publication, fault: Fault, code: str
) -> None:
    forge.fail_next(Fault(fault.match, fault.status, fault.body, fault.headers, times=9))
    done = deliver(publication, forge)
    assert told(done) == ("verification-failed", code, "credential")
    assert forge.pulls.all("o/r") == []
    assert forge.token not in json.dumps(done.verdict) + done.output


def test_a_wrong_token_never_hangs_on_a_prompt(forge: Forge, publication: Publication) -> None:
    done = run_publisher(publication, AUTOPILOT_SECRET_FORGE_TOKEN="made-up-and-wrong")
    assert told(done)[1:] == ("remote-refused-credential", "credential")
    assert "made-up-and-wrong" not in json.dumps(done.verdict) + done.output


def test_a_missing_token_is_noticed_only_after_every_check(forge: Forge, publication: Publication) -> None:
    done = run_publisher(publication)
    assert told(done) == ("verification-failed", "credential-missing", "credential")
    assert done.failed == ["delivery"]
    assert forge.requests() == []


def test_a_failed_check_asks_the_forge_nothing_at_all(forge: Forge, publication: Publication) -> None:
    done = publish(publication.with_spec(recorded_gates=[]), forge)
    assert told(done)[0] == "verification-failed"
    assert forge.requests() == []


@pytest.mark.covers("N06")
def test_a_branch_that_the_forge_protects_is_not_pushed(forge: Forge, publication: Publication) -> None:
    path = forge.repositories.existing("o/r")
    git(path, "update-ref", f"refs/heads/{BRANCH}", "refs/heads/main")
    forge.repositories.protect("o/r", BRANCH)
    done = deliver(publication.with_spec(expected_remote_head=publication.base_sha), forge)
    assert told(done) == ("verification-failed", "branch-protected", "configuration")
    assert forge.repositories.tip("o/r", BRANCH) == publication.base_sha
    assert forge.requests("git-receive-pack") == []


@pytest.mark.covers("N06")
def test_a_default_branch_is_not_pushed_whatever_its_name(forge: Forge, publication: Publication) -> None:
    path = forge.repositories.existing("o/r")
    git(path, "update-ref", f"refs/heads/{BRANCH}", "refs/heads/main")
    git(path, "symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    done = deliver(publication.with_spec(expected_remote_head=publication.base_sha), forge)
    assert told(done)[1] == "branch-protected"
    assert forge.repositories.tip("o/r", BRANCH) == publication.base_sha


def test_a_push_that_the_server_refuses_is_tried_once(forge: Forge, publication: Publication) -> None:
    forge.repositories.protect("o/r", BRANCH)
    done = deliver(publication, forge)
    assert told(done) == ("verification-failed", "branch-protected", "configuration")
    assert "GH006" in done.verdict["message"]
    assert len(forge.requests("POST /o/r.git/git-receive-pack")) == 1


@pytest.mark.covers("N14")
def test_without_draft_pull_requests_the_branch_is_left_for_a_person(
    forge: Forge, publication: Publication
) -> None:
    text = "Draft pull requests are not supported in this repository."
    forge.fail_next(Fault(CREATE_PULL, 422, {"message": "Validation Failed", "errors": [{"message": text}]}))
    done = deliver(publication, forge)
    assert told(done) == ("pushed-awaiting-pr", "draft-unsupported", None)
    assert forge.repositories.tip("o/r", BRANCH) == publication.head == done.verdict["pushed"]


@pytest.mark.field_report("PUB-006")
def test_a_forge_with_a_smaller_limit_gets_the_shortest_text(forge: Forge, publication: Publication) -> None:
    forge.fail_next(faults.body_too_long())
    done = deliver(publication.with_claims(summary="```\n" + "🎉 log\n" * 50_000), forge)
    assert told(done) == ("pr-opened", "opened", None)
    first, second = forge.requests("POST /repos/o/r/pulls")
    assert len(second.body["body"]) < 7_000 < len(first.body["body"]) <= 60_000
    assert "## Verification" in second.body["body"]


def test_a_renamed_repository_waits_for_the_configuration(forge: Forge, publication: Publication) -> None:
    forge.fail_next(Fault(FIND, 301, {"message": "Moved"}, {"Location": f"{forge.url}/repositories/1/pulls"}))
    assert told(deliver(publication, forge)) == ("verification-failed", "forge-moved", "configuration")
