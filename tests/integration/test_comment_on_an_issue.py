"""A draft's issue is commented on once; a comment that may be there is looked for, and never made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.secrets import variable_for
from autopilot.publish.delivery import deliver
from autopilot.schemas.delivery import DeliveryReport, DeliverySpec, IssueTarget
from autopilot.schemas.tracking import TrackerSpec
from tests.support.fixtures import MakeForge
from tests.support.forge import faults
from tests.support.forge.faults import Fault
from tests.support.forge.issues import Issue
from tests.support.forge.server import Forge
from tests.support.jira import Jira, JiraIssue
from tests.support.token_examples import token_examples

URL = "https://git.example.org/o/r/pull/3"
TEXT = f"A draft pull request is open for this: {URL}\nGates: 5 passed\n"
COMMENT = r"POST /repos/o/r/issues/7/comments$"
FIND = r"GET /repos/o/r/issues/7/comments$"


@pytest.fixture
def forge(make_forge: MakeForge, monkeypatch: pytest.MonkeyPatch) -> Forge:
    made = make_forge("o/r")
    made.issues.put("o/r", Issue(7, "Mend it"))
    monkeypatch.setenv(variable_for("tracker"), made.token)
    return made


def sent(folder: Path, tracker: TrackerSpec, reference: str = "7", text: str = TEXT) -> DeliveryReport:
    spec = DeliverySpec(
        id="1-1",
        report=folder / "report.json",
        workdir=folder / "work",
        mark=folder / "mark",
        to=IssueTarget(tracker=tracker, reference=reference, known_by=URL),
        text=text,
        roots=(),
        created_ms=1,
    )
    scratch = folder / "scratch"
    scratch.mkdir(mode=0o700, exist_ok=True)
    return deliver(spec, clock=SystemClock(), folder=scratch)


def github(forge: Forge) -> TrackerSpec:
    return TrackerSpec(kind="github", name="github", url=forge.api_url, project="o/r", credential="tracker")


def comments(forge: Forge) -> list[str]:
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    return list(issue.comments)


@pytest.mark.covers("G08")
def test_it_is_made_once_however_often_it_is_delivered(tmp_path: Path, forge: Forge) -> None:
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert sent(folder, github(forge)).outcome == "sent"
    assert comments(forge) == [TEXT]


@pytest.mark.covers("G08")
def test_jira_is_commented_on_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Jira() as server:
        issue = JiraIssue("ABC-7", "Mend it", "text")
        server.put(issue)
        monkeypatch.setenv(variable_for("tracker"), server.token)
        tracker = TrackerSpec(
            kind="jira", name="jira", url=server.url, account=server.account, credential="tracker"
        )
        assert sent(tmp_path, tracker, "ABC-7").outcome == "sent"
        assert sent(tmp_path, tracker, "ABC-7").outcome == "sent"
        assert [comment.strip() for comment in issue.comments] == [TEXT.strip()]


def test_a_comment_whose_answer_was_lost_is_looked_for(tmp_path: Path, forge: Forge) -> None:
    forge.fail_next(Fault(COMMENT, drop=True, after=True))
    assert sent(tmp_path, github(forge)).outcome == "sent"
    assert comments(forge) == [TEXT]


def test_one_that_is_not_found_afterwards_may_still_have_been_sent(tmp_path: Path, forge: Forge) -> None:
    forge.fail_next(Fault(COMMENT, status=502))
    report = sent(tmp_path, github(forge))
    assert report.outcome == "unsure"
    assert "may have been sent" in report.message
    assert (tmp_path / "mark").exists()


def test_what_a_crash_left_a_mark_of_is_looked_for_and_not_made_again(tmp_path: Path, forge: Forge) -> None:
    (tmp_path / "mark").write_text("0-1\n")
    assert sent(tmp_path, github(forge)).outcome == "unsure"
    assert comments(forge) == []
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    issue.comments.append(TEXT)
    assert sent(tmp_path, github(forge)).outcome == "sent"
    assert comments(forge) == [TEXT]


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault(FIND, status=502), "not-sent"),
        (Fault(FIND, status=401), "not-sent"),
        (Fault(FIND, drop=True), "not-sent"),
        (Fault(COMMENT, status=429, headers={"retry-after": "30"}), "not-sent"),
        (Fault(COMMENT, status=403), "rejected"),
        (Fault(COMMENT, status=410), "rejected"),
    ],
)
def test_only_what_was_certainly_not_made_may_be_tried_again(
    tmp_path: Path, forge: Forge, fault: Fault, outcome: str
) -> None:
    forge.fail_next(fault)
    report = sent(tmp_path, github(forge))
    assert report.outcome == outcome
    assert report.message
    assert (tmp_path / "mark").exists() == (outcome == "rejected")
    assert comments(forge) == []


def test_an_issue_that_is_gone_is_not_tried_again(tmp_path: Path, forge: Forge) -> None:
    spec = github(forge)
    assert sent(tmp_path, spec, "8").outcome == "rejected"


FOLLOWED = ("/pull/3", "2", "/files", "#issuecomment-1", "?w=1", "-x", "_", "ü", ".5")
PERSON = {"id": 583231, "login": "pat", "type": "User"}
APP = {"id": 41898282, "login": "night[bot]", "type": "Bot"}
WHO = r"GET /user$"


@pytest.mark.covers("G08")
@pytest.mark.parametrize("is_an_apps", [False, True])
def test_a_person_who_names_the_draft_first_does_not_silence_us(
    tmp_path: Path, forge: Forge, *, is_an_apps: bool
) -> None:
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    issue.comments.append(f"see {URL}")
    issue.others[f"see {URL}"] = PERSON
    if is_an_apps:
        issue.others[TEXT] = APP
        forge.fail_next(faults.forbidden(WHO, times=2))
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        assert sent(tmp_path / str(number), github(forge)).outcome == "sent"
    assert comments(forge) == [f"see {URL}", TEXT]


@pytest.mark.covers("G08")
@pytest.mark.parametrize(
    "said", [f"Linked: {URL}", f"> {TEXT}", f"{URL}: checks passed", f"\nBoard moved. {TEXT}"]
)
def test_to_an_app_another_apps_words_about_the_draft_are_not_its_own(
    tmp_path: Path, forge: Forge, said: str
) -> None:
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    issue.comments.append(said)
    issue.others |= {said: {"id": 49699333, "login": "board[bot]", "type": "Bot"}, TEXT: APP}
    forge.fail_next(faults.forbidden(WHO, times=3))
    newer = f"{TEXT.splitlines()[0]}\r\nGates: 6 passed\n"
    for number, text in enumerate((TEXT, TEXT, newer)):
        (tmp_path / str(number)).mkdir()
        assert sent(tmp_path / str(number), github(forge), text=text).outcome == "sent"
    assert comments(forge) == [said, TEXT]


def test_a_persons_words_are_not_the_comment_whose_answer_was_lost(tmp_path: Path, forge: Forge) -> None:
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    issue.comments.append(f"see {URL}")
    issue.others[f"see {URL}"] = PERSON
    forge.fail_next(Fault(COMMENT, status=502))
    assert sent(tmp_path, github(forge)).outcome == "unsure"
    assert sent(tmp_path, github(forge)).outcome == "unsure", "after a crash its mark is there"


@pytest.mark.parametrize("behind", FOLLOWED)
def test_a_draft_whose_address_begins_like_ours_is_another_one(
    tmp_path: Path, forge: Forge, behind: str
) -> None:
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    issue.comments.append(f"{URL}{behind}")
    assert sent(tmp_path, github(forge)).outcome == "sent"
    assert comments(forge) == [f"{URL}{behind}", TEXT]


@pytest.mark.parametrize("behind", ["", ".", ". Gates: 5", ")", "]", "\r\nx", " 2", "|", ">"])
def test_what_stands_behind_the_address_makes_no_other_draft_of_it(
    tmp_path: Path, forge: Forge, behind: str
) -> None:
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    issue.comments.append(f"{URL}{behind}")
    assert sent(tmp_path, github(forge)).outcome == "sent"
    assert len(comments(forge)) == 1


@pytest.mark.parametrize("fault", [Fault(WHO, status=502), faults.not_json(WHO), faults.rate_limited(WHO)])
def test_while_nobody_says_who_we_are_nothing_is_made(tmp_path: Path, forge: Forge, fault: Fault) -> None:
    issue = forge.issues.get("o/r", 7)
    assert issue is not None
    issue.comments.append(URL)
    forge.fail_next(fault)
    assert sent(tmp_path, github(forge)).outcome == "not-sent"
    assert comments(forge) == [URL]
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "fault",
    [
        Fault(COMMENT, 200, {"_raw": "<html>sign in</html>"}),
        Fault(COMMENT, 204),
        Fault(COMMENT, 201, {"id": 10**24}),
        Fault(COMMENT, 201, {"_raw": "[" * 100_000}),
        Fault(COMMENT, 201, {}, {"X-Seraph-LoginReason": "AUTHENTICATED_FAILED"}),
    ],
)
def test_a_good_answer_is_never_told_as_not_sent(tmp_path: Path, forge: Forge, fault: Fault) -> None:
    forge.fail_next(fault)
    assert sent(tmp_path, github(forge)).outcome == "sent"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(COMMENT, 201, {"_raw": " " * (5 << 20)}),
        Fault(COMMENT, 201, {}, {"Content-Encoding": "gzip"}),
    ],
)
@pytest.mark.parametrize("is_made", [False, True])
def test_an_answer_that_cannot_be_taken_is_looked_behind(
    tmp_path: Path, forge: Forge, fault: Fault, *, is_made: bool
) -> None:
    forge.fail_next(replace(fault, after=is_made))
    assert sent(tmp_path, github(forge)).outcome == ("sent" if is_made else "unsure")


@pytest.mark.covers("G08")
@pytest.mark.parametrize("is_cloud", [False, True])
@pytest.mark.parametrize("who", ["2", None])
def test_on_jira_only_our_own_accounts_words_are_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str | None, *, is_cloud: bool
) -> None:
    with Jira(is_cloud=is_cloud) as server:
        issue = JiraIssue("ABC-7", "x", comments=[f"see {URL}", f"{URL}2"], others={f"see {URL}": who})
        server.put(issue)
        monkeypatch.setenv(variable_for("tracker"), server.token)
        tracker = TrackerSpec(kind="jira", name="jira", url=server.url, credential="tracker")
        for number in range(2):
            (tmp_path / str(number)).mkdir()
            assert sent(tmp_path / str(number), tracker, "ABC-7").outcome == "sent"
        assert issue.comments == [f"see {URL}", f"{URL}2", TEXT]


@pytest.mark.parametrize(
    "fault", [Fault(r"GET .*/myself$", status) for status in (401, 403, 404)] + [Fault(r"/myself$", 200)]
)
def test_where_jira_does_not_say_who_we_are_everybody_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    with Jira() as server:
        issue = JiraIssue("ABC-7", "x", comments=[URL], others={URL: "2"})
        server.put(issue)
        server.faults.append(fault)
        monkeypatch.setenv(variable_for("tracker"), server.token)
        tracker = TrackerSpec(kind="jira", name="jira", url=server.url, credential="tracker")
        assert sent(tmp_path, tracker, "ABC-7").outcome == "sent"
        assert issue.comments == [URL]


@pytest.mark.covers("G06")
def test_the_gate_stands_before_a_comment_too(tmp_path: Path, forge: Forge) -> None:
    text = f"{URL} @pat fixes #7"
    assert sent(tmp_path, github(forge), text=text).outcome == "sent"
    assert comments(forge) == [f"{URL} @ pat Ref: #7"]
    token = token_examples()["github-token"][0]
    assert sent(tmp_path, github(forge), text=f"{URL} {token}").outcome == "refused"
