"""A draft's issue is commented on once; a comment that may be there is looked for, and never made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.secrets import variable_for
from autopilot.publish.delivery import deliver
from autopilot.schemas.delivery import DeliveryReport, DeliverySpec, IssueTarget
from autopilot.schemas.tracking import TrackerSpec
from tests.support.fixtures import MakeForge
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


@pytest.mark.covers("G06")
def test_the_gate_stands_before_a_comment_too(tmp_path: Path, forge: Forge) -> None:
    text = f"{URL} @pat fixes #7"
    assert sent(tmp_path, github(forge), text=text).outcome == "sent"
    assert comments(forge) == [f"{URL} @ pat Ref: #7"]
    token = token_examples()["github-token"][0]
    assert sent(tmp_path, github(forge), text=f"{URL} {token}").outcome == "refused"
