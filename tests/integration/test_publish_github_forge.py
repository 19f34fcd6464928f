"""One commit becomes one draft over GitHub's protocol: real pushes, checked requests."""

from pathlib import Path

import pytest

from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.faults import Fault
from tests.support.forge.server import Forge
from tests.support.gitcmd import git
from tests.support.github_publication import deliver, github_publication, open_by_a_person, publish, told
from tests.support.publication import BRANCH, FIX, Publication, commit
from tests.support.repos import commit_files

FIND = r"GET /repos/o/r/pulls$"


@pytest.fixture
def forge(make_forge: MakeForge) -> Forge:
    return make_forge()


@pytest.fixture
def publication(forge: Forge, tmp_path: Path) -> Publication:
    return github_publication(forge, tmp_path)


@pytest.mark.covers("N13", "N17", "N36")
def test_a_verified_commit_becomes_one_draft_pull_request(forge: Forge, publication: Publication) -> None:
    done = publish(publication, forge)
    assert told(done) == ("pr-opened", "opened", None)
    assert done.failed == []
    (pull,) = forge.pulls.all("o/r")
    assert (pull.draft, pull.head, pull.base, pull.sha) == (True, BRANCH, "main", publication.head)
    assert done.verdict["pr"]["url"] == f"{forge.url}/o/r/pull/1"
    (posted,) = forge.requests("POST /repos/o/r/pulls")
    assert posted.body["draft"] is True
    assert set(posted.body) == {"title", "head", "base", "body", "draft"}


def test_the_forge_is_asked_by_head_and_owner_before_anything_is_opened(
    forge: Forge, publication: Publication
) -> None:
    deliver(publication, forge)
    lines = [seen.line for seen in forge.requests("/repos/")]
    assert lines.index("GET /repos/o/r/pulls") < lines.index("POST /repos/o/r/pulls")
    (asked,) = forge.requests("GET /repos/o/r/pulls")
    assert "head=o%3Aautopilot%2Ft-3" in asked.query
    assert "state=all" in asked.query


@pytest.mark.covers("N34")
def test_the_text_arrives_with_real_newlines_and_every_letter(forge: Forge, publication: Publication) -> None:
    deliver(publication.with_claims(title='Größe "🎉"', summary='a\n\n"b" ñ 你好\n\\n stays'), forge)
    (pull,) = forge.pulls.all("o/r")
    assert pull.title == 'Größe "🎉"'
    assert '\n\n> a\n>\n> "b" ñ 你好\n> \\n stays\n' in (pull.body or "")


def test_the_token_is_nowhere_but_in_the_requests(forge: Forge, publication: Publication) -> None:
    done = publish(publication, forge)
    written = [path for path in publication.root.rglob("*") if path.is_file() and ".git/" not in str(path)]
    assert written
    for path in written:
        assert forge.token.encode() not in path.read_bytes(), path
    assert forge.token not in done.output
    assert not [seen for seen in forge.requests() if forge.token in f"{seen.path}{seen.query}"]
    assert {seen.is_authorized for seen in forge.requests("/repos/")} == {True}


def test_publishing_twice_gives_one_pull_request(forge: Forge, publication: Publication) -> None:
    first, second = publish(publication, forge), publish(publication, forge)
    assert first.verdict["pr"] == second.verdict["pr"]
    assert told(second)[1] == "updated"
    assert len(forge.pulls.all("o/r")) == 1


@pytest.mark.field_report("PUB-001")
def test_one_that_exists_already_is_linked_and_its_text_renewed(
    forge: Forge, publication: Publication
) -> None:
    deliver(publication, forge)
    (ours,) = forge.pulls.all("o/r")
    forge.fail_next(Fault(FIND, 200, {"_raw": "[]"}), faults.already_exists())
    done = deliver(publication.with_claims(summary="A better summary."), forge)
    assert told(done) == ("pr-opened", "opened", None)
    assert done.verdict["pr"]["number"] == ours.number
    again = deliver(publication.with_claims(summary="A better summary."), forge)
    assert told(again) == ("pr-opened", "updated", None)
    (pull,) = forge.pulls.all("o/r")
    assert "A better summary." in (pull.body or "")


@pytest.mark.field_report("PUB-001")
def test_one_that_a_person_opened_is_linked_and_left_alone(forge: Forge, publication: Publication) -> None:
    path = forge.repositories.existing("o/r")
    git(path, "fetch", "-q", str(publication.source), f"{publication.head}:refs/heads/{BRANCH}")
    open_by_a_person(forge, sha=publication.head)
    done = deliver(publication, forge)
    assert told(done) == ("pr-opened", "linked", None)
    assert done.verdict["pr"]["number"] == 12
    (pull,) = forge.pulls.all("o/r")
    assert (pull.body, pull.sha) == ("words of a person", publication.head)


@pytest.mark.field_report("PUB-001")
def test_a_text_that_a_person_edited_is_kept(forge: Forge, publication: Publication) -> None:
    deliver(publication, forge)
    (pull,) = forge.pulls.all("o/r")
    edited = (pull.body or "").replace("one cent", "exactly one cent")
    open_by_a_person(forge, number=1, body=edited, sha=pull.sha)
    assert told(deliver(publication, forge)) == ("pr-opened", "kept-edited-text", None)
    assert forge.pulls.all("o/r")[0].body == edited


@pytest.mark.field_report("PUB-012")
def test_a_persons_commit_is_never_written_over(forge: Forge, publication: Publication) -> None:
    deliver(publication, forge)
    theirs = commit_files(forge.repositories.existing("o/r"), BRANCH, {"review.txt": "x\n"})
    again = commit(publication, FIX | {"more.txt": "x\n"})
    done = deliver(publication.with_head(again).with_spec(expected_remote_head=publication.head), forge)
    assert told(done) == ("verification-failed", "branch-conflict", "branch-conflict")
    assert done.verdict["pr"]["number"] == 1
    assert forge.repositories.tip("o/r", BRANCH) == theirs


@pytest.mark.field_report("PUB-014")
def test_a_merged_pull_request_is_not_pushed_again(forge: Forge, publication: Publication) -> None:
    deliver(publication, forge)
    forge.merge("o/r", 1)
    pushed = publication.with_spec(expected_remote_head=publication.head)
    assert told(deliver(pushed, forge)) == ("pr-opened", "already-merged", None)
    again = pushed.with_head(commit(publication, FIX | {"more.txt": "x\n"}))
    done = deliver(again, forge)
    assert told(done) == ("verification-failed", "already-merged", "branch-conflict")
    assert done.verdict["pr"]["state"] == "merged"
    assert forge.repositories.tip("o/r", BRANCH) is None


def test_a_closed_pull_request_is_a_decision_that_stands(forge: Forge, publication: Publication) -> None:
    deliver(publication, forge)
    forge.close_pull("o/r", 1)
    done = deliver(publication, forge)
    assert told(done) == ("verification-failed", "pull-request-closed", "branch-conflict")
    assert len(forge.pulls.all("o/r")) == 1


def test_a_pull_request_that_left_draft_is_not_changed_under_its_readers(
    forge: Forge, publication: Publication
) -> None:
    deliver(publication, forge)
    (pull,) = forge.pulls.all("o/r")
    open_by_a_person(forge, number=1, draft=False, body=pull.body, sha=pull.sha)
    again = publication.with_head(commit(publication, FIX | {"more.txt": "x\n"}))
    done = deliver(again.with_spec(expected_remote_head=publication.head), forge)
    assert told(done)[1] == "pull-request-left-draft"
    assert forge.repositories.tip("o/r", BRANCH) == publication.head


@pytest.mark.field_report("GIT-044")
def test_a_base_that_moved_is_shown_in_the_pull_request(forge: Forge, publication: Publication) -> None:
    for number in range(5):
        commit_files(forge.repositories.existing("o/r"), "main", {"shares.txt": f"{number}\n"})
    done = deliver(publication, forge)
    assert done.verdict["base_behind"] == 5
    body = forge.pulls.all("o/r")[0].body or ""
    assert "**Base moved:** `main` is 5 commits ahead" in body
    assert "Changed on both sides: `shares.txt`" in body
