"""The remote moved on, or a person did something there: told, counted, and never written over."""

import json
from pathlib import Path

import pytest

from tests.support.gitcmd import git
from tests.support.publication import BASE_FILES, BRANCH, FIX, Publication, commit, local_publication
from tests.support.publisher import branches, deliver_only, local_pull_requests
from tests.support.repos import commit_files


@pytest.fixture
def publication(tmp_path: Path) -> Publication:
    return local_publication(tmp_path)


@pytest.mark.field_report("GIT-044")
def test_a_base_that_moved_is_counted_and_shown(publication: Publication) -> None:
    for number in range(4):
        commit_files(publication.remote, "main", {"NEWS.md": f"{number}\n"})
    done = deliver_only(publication)
    assert (done.verdict["outcome"], done.verdict["base_behind"]) == ("pr-opened", 4)
    (draft,) = local_pull_requests(publication)
    assert "**Base moved:** `main` is 4 commits ahead" in draft["body"]
    assert "does not merge cleanly" not in draft["body"]
    assert draft["head"] == publication.head


@pytest.mark.field_report("GIT-044")
def test_a_base_that_conflicts_is_reported_and_never_resolved(publication: Publication) -> None:
    for number in range(4):
        commit_files(publication.remote, "main", {"NEWS.md": f"{number}\n"})
    commit_files(publication.remote, "main", {"shares.txt": "1 1 998\n"})
    done = deliver_only(publication)
    assert done.verdict["base_behind"] == 5
    (draft,) = local_pull_requests(publication)
    assert "does not merge cleanly. Changed on both sides: `shares.txt`." in draft["body"]
    assert branches(publication.remote)[BRANCH] == publication.head


@pytest.mark.field_report("GIT-044")
def test_a_base_whose_history_was_rewritten_is_reported(publication: Publication) -> None:
    git(publication.remote, "update-ref", "-d", "refs/heads/main")
    commit_files(publication.remote, "main", BASE_FILES | {"x": "y"}, parentless=True)
    done = deliver_only(publication)
    assert done.verdict["outcome"] == "pr-opened"
    assert "the history of `main` was rewritten" in local_pull_requests(publication)[0]["body"]


def test_a_base_that_is_gone_waits_for_a_person(publication: Publication) -> None:
    git(publication.remote, "update-ref", "-d", "refs/heads/main")
    done = deliver_only(publication)
    assert (done.verdict["code"], done.verdict["waiting_for"]) == ("base-missing", "configuration")
    assert BRANCH not in branches(publication.remote)


@pytest.mark.field_report("AGT-039")
@pytest.mark.field_report("PUB-012")
def test_a_persons_commit_on_our_branch_is_never_written_over(publication: Publication) -> None:
    deliver_only(publication)
    theirs = commit_files(publication.remote, BRANCH, {"review.txt": "mine\n"})
    again = commit(publication, FIX | {"more.txt": "x\n"})
    done = deliver_only(publication.with_head(again).with_spec(expected_remote_head=publication.head))
    assert (done.verdict["code"], done.verdict["waiting_for"]) == ("branch-conflict", "branch-conflict")
    assert branches(publication.remote)[BRANCH] == theirs


@pytest.mark.field_report("AGT-039")
@pytest.mark.field_report("PUB-013")
def test_a_branch_that_somebody_else_made_is_a_final_refusal(publication: Publication) -> None:
    theirs = commit_files(publication.remote, BRANCH, {"theirs.txt": "x\n"})
    done = deliver_only(publication)
    assert (done.verdict["code"], done.verdict["waiting_for"]) == ("branch-conflict", "branch-conflict")
    assert branches(publication.remote)[BRANCH] == theirs
    assert local_pull_requests(publication) == []


def test_a_later_commit_of_ours_replaces_exactly_what_we_pushed_last(publication: Publication) -> None:
    deliver_only(publication)
    again = commit(publication, FIX | {"more.txt": "x\n"})
    done = deliver_only(publication.with_head(again).with_spec(expected_remote_head=publication.head))
    assert (done.verdict["outcome"], done.verdict["code"]) == ("pr-opened", "updated")
    assert branches(publication.remote)[BRANCH] == again
    (draft,) = local_pull_requests(publication)
    assert draft["head"] == again
    assert "`more.txt`" in draft["body"]


@pytest.mark.field_report("PUB-014")
def test_a_branch_that_was_merged_and_deleted_is_not_made_again(publication: Publication) -> None:
    deliver_only(publication)
    git(publication.remote, "update-ref", "refs/heads/main", publication.head)
    git(publication.remote, "update-ref", "-d", f"refs/heads/{BRANCH}")
    same = deliver_only(publication.with_spec(expected_remote_head=publication.head))
    assert (same.verdict["outcome"], same.verdict["code"]) == ("pr-opened", "already-merged")
    assert same.verdict["pr"]["state"] == "merged"
    again = commit(publication, FIX | {"more.txt": "x\n"})
    other = deliver_only(publication.with_head(again).with_spec(expected_remote_head=publication.head))
    assert (other.verdict["code"], other.verdict["waiting_for"]) == ("already-merged", "branch-conflict")
    assert BRANCH not in branches(publication.remote)


def test_a_branch_that_a_person_deleted_is_not_made_again(publication: Publication) -> None:
    deliver_only(publication)
    git(publication.remote, "update-ref", "-d", f"refs/heads/{BRANCH}")
    done = deliver_only(publication.with_spec(expected_remote_head=publication.head))
    assert (done.verdict["code"], done.verdict["waiting_for"]) == ("branch-deleted", "branch-conflict")
    assert BRANCH not in branches(publication.remote)


def test_a_text_that_a_person_edited_is_kept(publication: Publication) -> None:
    deliver_only(publication)
    record = Path(publication.forge["record_dir"]) / "pr-1.json"
    edited = json.loads(record.read_text())
    edited["body"] = edited["body"].replace("one cent", "exactly one cent")
    record.write_text(json.dumps(edited))
    done = deliver_only(publication)
    assert done.verdict["code"] == "kept-edited-text"
    assert json.loads(record.read_text())["body"] == edited["body"]
