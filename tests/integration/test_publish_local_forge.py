"""One commit becomes one draft on the embedded forge, or stays where it is with every reason named."""

import json
from pathlib import Path

import pytest

from autopilot.publish.files import read_request
from autopilot.schemas.publication import PublishVerdict
from tests.support.gitcmd import AUTHOR_EMAIL, AUTHOR_NAME
from tests.support.publication import BRANCH, FIX, Publication, commit, local_publication
from tests.support.publisher import (
    branches,
    deliver_only,
    local_pull_requests,
    look,
    run_publisher,
    start_publisher,
)


@pytest.fixture
def publication(tmp_path: Path) -> Publication:
    return local_publication(tmp_path)


@pytest.mark.covers("N01", "N02", "N07", "N16", "N17", "N42")
def test_a_verified_commit_becomes_one_draft(publication: Publication) -> None:
    done = run_publisher(publication)
    assert (done.code, done.output) == (0, "")
    assert (done.verdict["outcome"], done.verdict["code"]) == ("pr-opened", "opened")
    assert done.failed == []
    assert branches(publication.remote)[BRANCH] == publication.head == done.verdict["pushed"]
    (draft,) = local_pull_requests(publication)
    assert (draft["draft"], draft["head"], draft["branch"]) == (True, publication.head, BRANCH)
    assert draft["title"] == "Share out every cent"
    assert "Ref: T-3" in draft["body"]
    assert done.verdict["pr"] == {"number": 1, "url": draft_url(), "draft": True, "state": "open"}
    PublishVerdict.model_validate_json(publication.verdict_file.read_bytes())


def draft_url() -> str:
    return "local://demo/pull/1"


def test_the_progress_lines_tell_what_happened_in_order(publication: Publication) -> None:
    done = run_publisher(publication)
    told = [line["event"] for line in done.events if line["event"] != "publish.checked"]
    assert told == ["publish.started", "publish.pushed", "publish.pr_opened", "publish.finished"]
    checked = [line["check"] for line in done.events if line["event"] == "publish.checked"]
    assert checked == [
        "repository",
        "branch",
        "staging",
        "ancestry",
        "content",
        "packages",
        "secrets",
        "ledger",
        "reverify",
        "outbound",
    ]


def test_nothing_is_left_in_the_work_folder(publication: Publication) -> None:
    run_publisher(publication)
    assert [path.name for path in (publication.folder / "work").iterdir()] == [".lock"]


@pytest.mark.field_report("PUB-001")
def test_publishing_twice_gives_the_same_draft(publication: Publication) -> None:
    first, second = run_publisher(publication), run_publisher(publication)
    assert first.verdict["pr"] == second.verdict["pr"]
    assert second.verdict["outcome"] == "pr-opened"
    assert len(local_pull_requests(publication)) == 1


@pytest.mark.covers("N15")
def test_every_failed_check_is_listed_and_nothing_leaves(publication: Publication) -> None:
    bad = commit(publication, {"key.txt": "ghp" + "_R9dK2mQ7xV4bT8nL1cF6hJ3pZ5wY0sAaGgE4\n"}, "Fixes #3\n")
    wrong = publication.with_head(bad).with_claims(branch="autopilot/other").with_spec(recorded_gates=[])
    done = run_publisher(wrong)
    assert (done.code, done.verdict["outcome"]) == (0, "verification-failed")
    assert done.failed == ["branch", "ancestry", "secrets", "ledger", "reverify"]
    assert done.verdict["waiting_for"] == "verification-failed"
    assert "not run: it needs ancestry" in done.reasons("reverify")
    assert BRANCH not in branches(publication.remote)
    assert local_pull_requests(publication) == []
    assert done.verdict["pushed"] is None


@pytest.mark.covers("N01", "N03")
@pytest.mark.parametrize("content", ["", "{", '{"head": 1}', "[]", "\x00"])
def test_a_request_that_cannot_be_read_publishes_nothing(publication: Publication, content: str) -> None:
    publication.write()
    publication.request_file.write_text(content)
    request, fault = read_request(publication.request_file)
    assert request is None
    assert fault.startswith("the request cannot be read")


def test_a_request_that_is_not_there_publishes_nothing(publication: Publication) -> None:
    spec_file = publication.write()
    publication.request_file.unlink()
    done = start_publisher(publication, spec_file)
    assert done.verdict["outcome"] == "verification-failed"
    assert "the request cannot be read" in done.reasons("repository")
    assert branches(publication.remote).keys() == {"main"}


@pytest.mark.covers("N04")
def test_a_request_that_names_another_repository_changes_nothing(
    publication: Publication, tmp_path: Path
) -> None:
    done = run_publisher(publication.with_claims(repo_id=str(tmp_path / "elsewhere.git")))
    assert done.verdict["outcome"] == "pr-opened"
    assert BRANCH in branches(publication.remote)


def test_an_order_that_cannot_be_read_ends_with_the_code_for_configuration(publication: Publication) -> None:
    done = run_publisher(publication.with_spec(head="not a commit"))
    assert done.code == 78
    assert "publish-spec-unreadable" in done.output
    assert done.verdict == {}


def test_a_refusal_of_the_remote_is_final_and_told(publication: Publication) -> None:
    hook = publication.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho tried >> tries\necho 'ticket key missing' >&2\nexit 1\n")
    hook.chmod(0o755)
    done = deliver_only(publication)
    assert (done.verdict["code"], done.verdict["waiting_for"]) == ("push-refused", "configuration")
    assert "ticket key missing" in done.verdict["message"]
    assert (publication.remote / "tries").read_text() == "tried\n"
    assert done.verdict["pushed"] is None


def test_a_remote_that_is_not_there_is_told_and_nothing_is_lost(publication: Publication) -> None:
    publication.remote.rename(publication.remote.with_name("moved.git"))
    done = deliver_only(publication)
    assert done.verdict["outcome"] in {"verification-failed", "publish-deferred"}
    assert "delivery" in done.failed
    publication.remote.with_name("moved.git").rename(publication.remote)
    assert deliver_only(publication).verdict["outcome"] == "pr-opened"


@pytest.mark.parametrize(
    "name",
    [
        "bad\udcff.txt",
        "with space.txt",
        "-leading",
        "größe/ñ.txt",
        "new\nline",
        'quote".txt',
        "tab\tx",
        "@types/x",
    ],
)
def test_a_file_of_any_name_is_published_and_shown(publication: Publication, name: str) -> None:
    head = commit(publication, FIX | {name: "x\n"})
    done = run_publisher(publication.with_head(head))
    assert done.verdict["outcome"] == "pr-opened", done.verdict


def test_the_message_of_a_commit_and_the_text_of_the_draft_are_utf_8(publication: Publication) -> None:
    head = commit(publication, FIX, "Größe 🎉\n\nRef: T-3\n")
    done = deliver_only(publication.with_head(head).with_claims(title="Größe 🎉", summary="a\nb ñ"))
    assert done.verdict["outcome"] == "pr-opened"
    raw = (Path(publication.forge["record_dir"]) / "pr-1.json").read_bytes()
    assert "Größe 🎉".encode() in raw
    assert json.loads(raw)["body"].partition("\n\n> ")[2].startswith("a\n> b ñ\n")


@pytest.mark.parametrize("broken", ["publish-events.jsonl", "work"])
def test_any_surprise_becomes_a_verdict_and_never_a_push(publication: Publication, broken: str) -> None:
    publication.write()
    path = publication.folder / broken
    if broken == "work":
        path.write_text("a file where a folder should be")
    else:
        path.mkdir()
    done = run_publisher(publication)
    assert (done.code, done.verdict["outcome"], done.verdict["code"]) == (0, "verification-failed", "bug")
    assert "Traceback" in done.output
    assert branches(publication.remote).keys() == {"main"}


def test_two_publishers_of_one_publication_do_not_meet(publication: Publication) -> None:
    import fcntl

    work = publication.folder / "work"
    work.mkdir(parents=True)
    with (work / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run_publisher(publication)
    assert (done.code, done.verdict) == (75, {})
    assert "publisher-busy" in done.output


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("Share\n", "no trailer 'Ref: T-3'"),
        ("Share\n\nRef: T-4\n", "no trailer 'Ref: T-3'"),
        ("Share\n\nRef: T-3 is it\n\nEnd.\n", "no trailer"),
        ("Share\n\nCo-authored-by: X <x@y.example>\nRef: T-3\n", "names a co-author"),
        ("Fixes #4\n\nRef: T-3\n", "keyword that closes an issue"),
        ("Share\n\nGenerated with Claude Code\n\nRef: T-3\n", "attribution to a machine"),
        ("Share\n\nfor @alice\n\nRef: T-3\n", "mention of a person"),
        ("Share\n\nsee /home/me/x\n\nRef: T-3\n", "absolute path of this machine"),
    ],
)
@pytest.mark.covers("N32")
def test_what_a_commit_says_is_looked_at(publication: Publication, message: str, why: str) -> None:
    told = look(publication.with_head(commit(publication, FIX, message)), "staging", "ancestry")
    assert why in "; ".join(told["ancestry"].reasons)


@pytest.mark.parametrize(
    "identity",
    [{"name": "Somebody", "email": AUTHOR_EMAIL}, {"name": AUTHOR_NAME, "email": "s@example.invalid"}],
)
def test_a_commit_in_another_name_is_refused(publication: Publication, identity: dict[str, str]) -> None:
    told = look(publication.with_spec(identity=identity), "staging", "ancestry")["ancestry"].reasons
    assert [reason[13:] for reason in told] == [
        "does not carry the recorded identity as its author",
        "does not carry the recorded identity as its committer",
    ]
