"""The issue that a ticket came from is told once that its draft is open, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autopilot.daemon.delivery import standing
from autopilot.schemas.delivery import DeliverySpec, IssueTarget
from tests.support import queue
from tests.support.couriers import KILLED, Errands
from tests.support.shop import Stage

Make = Callable[..., Errands]
JIRA = (
    'tracker.jira = { kind = "jira", url = "https://you.atlassian.net", credential = "jira",'
    ' projects = { PROJ = "shop" } }\n'
)
ON = f"report_issue_updates = true\n{JIRA}"


def published(stage: Stage, source_key: str | None = "PROJ-7") -> str:
    ticket = queue.add(stage.store, "Say it", source_key=source_key)
    return queue.publish(stage.store, queue.commit(stage.store, ticket)).id


def target(spec: DeliverySpec) -> IssueTarget:
    assert isinstance(spec.to, IssueTarget)
    return spec.to


@pytest.mark.covers("G08")
def test_it_gets_one_comment_with_the_drafts_address_and_no_money(make_errands: Make) -> None:
    errands = make_errands(ON)
    published(errands.stage)
    for _ in range(3):
        errands.loop.tick()
    (spec,) = errands.specs()
    to = target(spec)
    assert (to.tracker.kind, to.tracker.credential, to.reference) == ("jira", "jira", "PROJ-7")
    assert to.known_by == "https://forge.test/pr/1"
    assert to.known_by in spec.text
    assert "Gates: 3 passed" in spec.text
    assert "$" not in spec.text
    errands.ends("sent")
    errands.restart()
    errands.loop.tick()
    assert not errands.supervisor.launches
    assert [(one.kind, one.channel, one.state) for one in errands.all()] == [("issue", "PROJ-7", "sent")]


@pytest.mark.covers("G08")
@pytest.mark.parametrize("config", [JIRA, f'report_channels = ["team"]\nreport_drafts = true\n{JIRA}'])
def test_by_default_no_issue_is_told(make_errands: Make, config: str) -> None:
    errands = make_errands(config)
    published(errands.stage)
    errands.loop.tick()
    assert "issue" not in [one.kind for one in errands.all()]


@pytest.mark.parametrize("source_key", [None, "OTHER-7", "you/shop#12", "a note of mine"])
def test_what_came_from_no_tracker_of_the_configuration_is_left_alone(
    make_errands: Make, source_key: str | None
) -> None:
    errands = make_errands(ON)
    published(errands.stage, source_key)
    errands.loop.tick()
    assert errands.all() == []


@pytest.mark.covers("G10")
def test_it_is_in_the_operators_language(make_errands: Make) -> None:
    errands = make_errands(f'output_language = "tr"\n{ON}')
    published(errands.stage)
    errands.loop.tick()
    assert errands.specs()[0].text.startswith("Bunun için bir taslak pull request açıldı: https://")


def test_after_a_crash_its_publisher_looks_for_it_before_anything_is_believed(make_errands: Make) -> None:
    errands = make_errands(ON)
    published(errands.stage)
    errands.loop.tick()
    errands.specs()[0].mark.write_text("1-1\n")
    errands.ends(ending=KILLED)
    assert errands.states() == ["waiting"]
    errands.stage.clock.advance(3600)
    errands.loop.tick()
    assert len(errands.supervisor.launches) == 2
    errands.ends("sent")
    assert errands.states() == ["sent"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (
            "report_issue_updates = true",
            "report_issue_updates = false",
            "report_issue_updates was turned off",
        ),
        ('PROJ = "shop"', 'OTHER = "shop"', "no tracker is configured for PROJ-7 any more"),
    ],
)
def test_what_is_not_wanted_any_more_is_not_sent(
    make_errands: Make, before: str, after: str, why: str
) -> None:
    errands = make_errands(ON)
    published(errands.stage)
    errands.loop.tick()
    errands.ends("not-sent", code="tracker-unavailable", message="x")
    file = errands.stage.paths.config_file
    file.write_text(file.read_text().replace(before, after))
    errands.stage.clock.advance(3600)
    errands.loop.tick()
    (one,) = errands.all()
    assert (one.state, one.code, one.reason) == ("failed", "not-wanted", why)
    assert standing.sentence(one.shown()) == f"comment of T-1 on PROJ-7 was not sent: {why}"
