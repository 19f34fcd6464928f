"""Issues over GitHub's protocol: read, comments found, one added, and nothing else."""

import pytest

from autopilot.publish.answers import Lost
from autopilot.publish.trackers.tracker import Ours
from autopilot.schemas.errors import AutopilotError, ConfigError, TicketError, TransientError
from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.faults import Fault
from tests.support.forge.issues import Issue
from tests.support.forge.server import Forge
from tests.support.trackers import github

READ = r"GET /repos/o/r/issues/7$"
COMMENT = r"POST /repos/o/r/issues/7/comments$"


@pytest.fixture
def forge(make_forge: MakeForge) -> Forge:
    made = make_forge("o/r")
    made.issues.put("o/r", Issue(7, "Größe is wrong", "Line one\r\n\r\nLine two", labels=("bug", "night")))
    return made


def test_an_issue_is_told_with_its_author_and_what_the_author_is_to_the_repository(forge: Forge) -> None:
    with github(forge) as tracker:
        told = tracker.read("7")
    assert (told.title, told.body) == ("Größe is wrong", "Line one\r\n\r\nLine two")
    assert (told.author, told.association, told.state) == ("github:583231", "MEMBER", "open")


def test_a_closed_issue_one_without_text_and_one_of_a_deleted_account_are_told_as_they_are(
    forge: Forge,
) -> None:
    forge.issues.put("o/r", Issue(8, "x", None, author=None, association="NONE", state="closed"))
    with github(forge) as tracker:
        told = tracker.read("8")
    assert (told.body, told.author, told.association, told.state) == ("", None, "NONE", "closed")


def test_a_pull_request_is_no_issue(forge: Forge) -> None:
    forge.issues.put("o/r", Issue(9, "x", is_pull=True))
    with github(forge) as tracker, pytest.raises(TicketError, match="not-an-issue"):
        tracker.read("9")


def test_a_comment_is_added_and_found_again_by_a_mark_in_it(forge: Forge) -> None:
    with github(forge) as tracker:
        assert not tracker.find("7", Ours("mark-1", "done"))
        tracker.comment("7", "A draft is open.\n\nmark-1 ✓")
        assert tracker.find("7", Ours("mark-1", "done"))
    told = forge.issues.get("o/r", 7)
    assert told is not None
    assert told.comments == ["A draft is open.\n\nmark-1 ✓"]


def test_a_mark_on_a_later_page_is_found_and_too_many_pages_are_no_proof_of_absence(forge: Forge) -> None:
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    issue.comments = [f"comment {number}" for number in range(120)]
    with github(forge) as tracker:
        assert tracker.find("7", Ours("comment 119", "done"))
        issue.comments = ["x"] * 1000
        with pytest.raises(ConfigError, match="comments-not-whole"):
            tracker.find("7", Ours("mark-1", "done"))


def test_a_comment_whose_answer_is_lost_can_be_looked_for(forge: Forge) -> None:
    forge.fail_next(faults.lost_answer(COMMENT))
    with github(forge) as tracker:
        with pytest.raises(Lost):
            tracker.comment("7", "mark-1")
        assert tracker.find("7", Ours("mark-1", "done"))
    assert len(forge.requests("POST /repos/o/r/issues/7/comments")) == 1


def test_another_issue_than_the_one_asked_for_is_not_taken(forge: Forge) -> None:
    told = {"number": 999, "title": "x", "state": "open", "user": {"id": 583231}}
    forge.fail_next(Fault(READ, 200, told))
    with github(forge) as tracker, pytest.raises(TicketError, match=r"o/r#999.*issue-moved"):
        tracker.read("7")


def test_whose_account_it_is_is_asked_once(forge: Forge) -> None:
    with github(forge) as tracker:
        assert not tracker.find("7", Ours("mark-1", "done"))
        assert forge.requests("GET /user") == []
        tracker.comment("7", "mark-1")
        assert tracker.find("7", Ours("mark-1", "done"))
        assert tracker.find("7", Ours("mark-1", "done"))
    assert len(forge.requests("GET /user")) == 1


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (201, {"id": 0, "body": "an id that no comment of ours could have"}, {}),
        (201, {"_raw": "<html>sign in</html>"}, {}),
        (200, {}, {}),
    ],
)
def test_of_the_answer_to_a_comment_only_the_number_counts(
    forge: Forge, status: int, body: dict[str, object], headers: dict[str, str]
) -> None:
    forge.fail_next(Fault(COMMENT, status, body, headers, after=True))
    with github(forge) as tracker:
        tracker.comment("7", "mark-1")
        assert tracker.find("7", Ours("mark-1", "done"))


def test_an_answer_to_a_comment_that_cannot_be_taken_does_not_tell_whether_it_was_made(forge: Forge) -> None:
    packed = {"Content-Encoding": "gzip"}
    forge.fail_next(Fault(COMMENT, 201, {}, packed, after=True))
    with github(forge) as tracker:
        with pytest.raises(Lost, match="tracker-answer-unreadable"):
            tracker.comment("7", "mark-1")
        assert tracker.find("7", Ours("mark-1", "done"))


@pytest.mark.covers("H15")
def test_nothing_but_reading_and_commenting_is_asked_for(forge: Forge) -> None:
    with github(forge) as tracker:
        tracker.read("7")
        tracker.comment("7", "x")
        tracker.find("7", Ours("x", "done"))
        tracker.weaknesses()
    assert sorted({seen.line for seen in forge.requests()}) == [
        "GET /repos/o/r",
        "GET /repos/o/r/issues/7",
        "GET /repos/o/r/issues/7/comments",
        "GET /user",
        "POST /repos/o/r/issues/7/comments",
    ]


MOVED = {"message": "Moved Permanently", "url": "http://127.0.0.1:1/repositories/1/issues/3"}


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (faults.bad_credentials(READ), ConfigError, "tracker-refused-credential"),
        (faults.forbidden(READ), ConfigError, "tracker-refused-credential"),
        (Fault(READ, 404, {"message": "Not Found"}), TicketError, "issue-not-found"),
        (Fault(READ, 410, {"message": "This issue was deleted"}), TicketError, "issue-gone"),
        (Fault(READ, 301, MOVED, {"Location": MOVED["url"]}), ConfigError, "tracker-moved"),
        (Fault(READ, 300, {}), ConfigError, "tracker-moved"),
        (Fault(READ, 307, {}, {"Location": "/x"}), ConfigError, "tracker-moved"),
        (faults.rate_limited(READ), TransientError, "tracker-rate-limit"),
        (faults.secondary_rate_limited(READ, status=429), TransientError, "tracker-rate-limit"),
        (faults.server_error(READ), TransientError, "tracker-unavailable"),
        (faults.server_error(READ, status=503), TransientError, "tracker-unavailable"),
        (faults.dropped(READ), TransientError, "tracker-unavailable"),
        (faults.not_json(READ), Lost, "tracker-answer-unreadable"),
        (Fault(READ, 200, {"title": "x"}), Lost, "tracker-answer-unreadable"),
        (Fault(READ, 200, {"_raw": "[" * 100_000}), Lost, "tracker-answer-unreadable"),
        (Fault(READ, 418, {"message": "no"}), ConfigError, "tracker-refused"),
    ],
)
def test_each_way_of_not_answering_has_a_name_and_a_cure(
    forge: Forge, fault: Fault, kind: type[AutopilotError], code: str
) -> None:
    forge.fail_next(fault)
    with github(forge) as tracker, pytest.raises(kind) as raised:
        tracker.read("7")
    assert raised.value.code == code
    assert raised.value.hint
    assert forge.token not in str(raised.value)


def test_without_a_token_no_authorization_is_sent(forge: Forge) -> None:
    with github(forge, token="") as tracker, pytest.raises(ConfigError, match="tracker-refused-credential"):
        tracker.read("7")
    assert "authorization" not in forge.requests()[-1].headers


def test_a_server_that_sends_the_token_back_is_not_quoted(forge: Forge) -> None:
    forge.fail_next(Fault(READ, 403, {"message": f"no: {forge.token} \x1b[2J\u202e"}))
    with github(forge) as tracker, pytest.raises(ConfigError) as raised:
        tracker.read("7")
    assert forge.token not in str(raised.value)
    assert "\x1b" not in str(raised.value)
    assert "\u202e" not in str(raised.value)


def test_a_classic_token_and_an_administrators_are_named(forge: Forge) -> None:
    told = {"default_branch": "main", "permissions": {"admin": True}}
    forge.fail_next(Fault(r"GET /repos/o/r$", 200, told, {"X-OAuth-Scopes": "repo"}))
    with github(forge) as tracker:
        classic, mighty = tracker.weaknesses()
    assert "classic" in classic
    assert "admin" in mighty
