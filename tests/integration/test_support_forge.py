"""The loopback forge behaves as a forge, and lets its client down on demand."""

import contextlib
import http.client
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.issues import Issue
from tests.support.forge.server import Forge
from tests.support.gitcmd import git, git_environment
from tests.support.repos import commit_files
from tests.support.wait import wait_until

PULLS = "/repos/o/r/pulls"
ISSUES = "/repos/o/r/issues"


@pytest.fixture
def forge(make_forge: MakeForge) -> Forge:
    made = make_forge("o/r")
    commit_files(made.repositories.existing("o/r"), "autopilot/t-1", {"a.txt": "a\n"})
    return made


def ask(
    forge: Forge,
    method: str,
    target: str,
    body: object = None,
    *,
    token: str | None = None,
) -> tuple[int, Any]:
    """One JSON request; a refusal is returned, a cut connection is raised."""
    headers = {"Authorization": f"Bearer {token or forge.token}", "User-Agent": "test"}
    data = None if body is None else json.dumps(body)
    connection = http.client.HTTPConnection("127.0.0.1", forge.server_port, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, target, data, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def draft(**other: object) -> dict[str, object]:
    return {"title": "T", "head": "autopilot/t-1", "base": "main", "draft": True, "body": "b", **other}


def push(forge: Forge, work: Path, spec: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
    bearer = f"Authorization: Bearer {token or forge.token}"  # no argument: a story beside us looks at those
    return subprocess.run(
        ["git", "--config-env=http.extraHeader=BEARER", "push", forge.git_url("o/r"), spec],
        cwd=work,
        env=git_environment() | {"BEARER": bearer},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def work(forge: Forge, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", str(forge.repositories.existing("o/r")), "work")
    git(tmp_path / "work", "commit", "-q", "--allow-empty", "-m", "new")
    return tmp_path / "work"


def test_a_push_needs_the_token_and_lands_in_the_bare_repository(forge: Forge, work: Path) -> None:
    assert push(forge, work, "HEAD:refs/heads/autopilot/t-2", token="wrong").returncode == 128
    assert push(forge, work, "HEAD:refs/heads/autopilot/t-2").returncode == 0
    assert forge.repositories.tip("o/r", "autopilot/t-2") == git(work, "rev-parse", "HEAD")
    refused = [seen.status for seen in forge.requests("info/refs")]
    assert refused[0] == 401


def test_a_push_to_a_protected_branch_is_refused_as_on_the_real_service(forge: Forge, work: Path) -> None:
    forge.repositories.protect("o/r", "main")
    refused = push(forge, work, "HEAD:refs/heads/main")
    assert refused.returncode == 1
    assert "GH006" in refused.stderr
    assert ask(forge, "GET", "/repos/o/r/branches/main")[1]["protected"] is True
    assert ask(forge, "GET", "/repos/o/r/branches/autopilot/t-1")[1]["protected"] is False


def test_a_draft_is_opened_found_by_its_head_read_and_changed(forge: Forge) -> None:
    status, made = ask(forge, "POST", PULLS, draft())
    assert (status, made["draft"], made["head"]["ref"]) == (201, True, "autopilot/t-1")
    found = ask(forge, "GET", f"{PULLS}?head=o:autopilot/t-1&state=all")[1]
    assert [pull["number"] for pull in found] == [made["number"]]
    assert ask(forge, "GET", f"{PULLS}?head=o:other")[1] == []
    changed = ask(forge, "PATCH", f"{PULLS}/{made['number']}", {"title": "T2"})
    assert (changed[0], changed[1]["title"]) == (200, "T2")
    assert ask(forge, "GET", f"{PULLS}/{made['number']}")[1]["title"] == "T2"


def test_the_head_filter_without_an_owner_is_ignored_as_on_the_real_service(forge: Forge) -> None:
    ask(forge, "POST", PULLS, draft())
    assert len(ask(forge, "GET", f"{PULLS}?head=no-such-branch")[1]) == 1


@pytest.mark.parametrize(
    ("method", "target", "body", "status"),
    [
        ("GET", "/user", None, 200),
        ("GET", "/repos/o/r", None, 200),
        ("GET", "/repos/o/r/branches/main", None, 200),
        ("GET", PULLS, None, 200),
        ("POST", PULLS, draft(), 201),
        ("PATCH", f"{PULLS}/1", {"body": "new"}, 200),
        ("GET", f"{ISSUES}/3", None, 200),
        ("GET", f"{ISSUES}/4", None, 200),
        ("GET", f"{ISSUES}/3/comments", None, 200),
        ("POST", f"{ISSUES}/3/comments", {"body": "b"}, 201),
    ],
)
def test_every_answer_fits_the_description_of_the_real_service(
    forge: Forge, method: str, target: str, body: object, status: int
) -> None:
    if method != "POST":
        ask(forge, "POST", PULLS, draft())
    forge.issues.put("o/r", Issue(3, "T", "b", labels=("bug",), comments=["first"]))
    forge.issues.put("o/r", Issue(4, "T", author=None, state="closed", is_pull=True))
    got, answer = ask(forge, method, target, body)
    operation = forge.github.spec.find(method, target)
    assert operation is not None
    assert got == status
    assert forge.github.spec.answer_errors(operation, status, answer) == []


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (draft(drfat=True), "drfat"),
        (draft(draft="true"), "boolean"),
        ({"title": "T", "head": "autopilot/t-1"}, "'base' is a required property"),
        (draft(title=" "), "title can't be blank"),
        (draft(head="nowhere"), "head is invalid"),
        (draft(head="main"), "No commits between main and main"),
        (draft(body="x" * 65_537), "body is too long"),
        (None, "a body is required"),
    ],
)
def test_a_wrong_pull_request_is_refused_with_the_reason(forge: Forge, body: object, why: str) -> None:
    status, answer = ask(forge, "POST", PULLS, body)
    assert status == 422
    assert why in json.dumps(answer)
    assert forge.pulls.all("o/r") == []


def test_an_unknown_query_parameter_and_an_unknown_path_are_refused(forge: Forge) -> None:
    assert ask(forge, "GET", f"{PULLS}?haed=o:x")[0] == 422
    assert ask(forge, "GET", "/repos/o/absent")[0] == 404
    assert ask(forge, "GET", "/repos/o/r/branches/absent")[0] == 404
    assert ask(forge, "DELETE", "/repos/o/r")[0] == 404


def test_a_second_pull_request_for_the_same_branches_is_refused(forge: Forge) -> None:
    ask(forge, "POST", PULLS, draft())
    status, answer = ask(forge, "POST", PULLS, draft())
    assert status == 422
    assert "already exists for o:autopilot/t-1" in json.dumps(answer)


def test_a_merged_pull_request_stays_readable_after_its_branch_is_gone(forge: Forge) -> None:
    number = ask(forge, "POST", PULLS, draft())[1]["number"]
    forge.merge("o/r", number)
    assert forge.repositories.tip("o/r", "autopilot/t-1") is None
    pull = ask(forge, "GET", f"{PULLS}/{number}")[1]
    assert (pull["state"], pull["merged"]) == ("closed", True)
    assert ask(forge, "PATCH", f"{PULLS}/{number}", {"state": "open"})[0] == 422
    assert len(ask(forge, "GET", f"{PULLS}?head=o:autopilot/t-1&state=all")[1]) == 1


@pytest.mark.parametrize(
    ("fault", "status", "word"),
    [
        (faults.bad_credentials(), 401, "Bad credentials"),
        (faults.rate_limited(), 403, "rate limit"),
        (faults.secondary_rate_limited(retry_after_s=7), 403, "secondary"),
        (faults.forbidden(), 403, "not accessible"),
        (faults.already_exists(), 422, "already exists"),
        (faults.body_too_long(), 422, "too long"),
        (faults.server_error(), 500, "Server Error"),
    ],
)
def test_a_fault_is_answered_once_and_nothing_is_done(
    forge: Forge, fault: faults.Fault, status: int, word: str
) -> None:
    forge.fail_next(fault)
    got, answer = ask(forge, "POST", PULLS, draft())
    assert got == status
    assert word in json.dumps(answer)
    assert forge.pulls.all("o/r") == []
    assert ask(forge, "POST", PULLS, draft())[0] == 201


def test_the_answer_can_be_lost_after_the_work_was_done(forge: Forge) -> None:
    forge.fail_next(faults.lost_answer())
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        ask(forge, "POST", PULLS, draft())
    assert len(ask(forge, "GET", f"{PULLS}?head=o:autopilot/t-1")[1]) == 1
    assert forge.requests("POST")[0].status is None


def test_a_push_can_lose_its_answer_too(forge: Forge, work: Path) -> None:
    forge.fail_next(faults.lost_answer(faults.PUSH))
    assert push(forge, work, "HEAD:refs/heads/autopilot/t-2").returncode != 0
    assert forge.repositories.tip("o/r", "autopilot/t-2") == git(work, "rev-parse", "HEAD")


def test_a_slow_answer_does_not_hold_up_the_end_of_the_test(tmp_path: Path) -> None:
    with Forge(tmp_path / "slow") as forge:
        forge.repositories.add("o/r")
        forge.fail_next(faults.slow(delay_s=100))
        connection = http.client.HTTPConnection("127.0.0.1", forge.server_port, timeout=20)
        connection.request("GET", "/user", headers={"User-Agent": "t"})
        wait_until(forge.arrivals, 20, "the request is at the forge")
        assert forge.requests() == []
    connection.close()


def test_requests_are_recorded_without_the_credential(forge: Forge) -> None:
    ask(forge, "POST", PULLS, draft())
    ask(forge, "GET", "/user", token="wrong")
    first, second = forge.requests()
    assert (first.line, first.body["head"], first.status) == (f"POST {PULLS}", "autopilot/t-1", 201)
    assert (second.is_authorized, second.status) == (False, 401)
    assert forge.token not in repr(forge.requests())
