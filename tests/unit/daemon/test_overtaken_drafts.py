"""A draft that was opened in the moment of a cancel is told of, with where it is and how it is closed."""

from __future__ import annotations

import json

import pytest

from autopilot.daemon import desk, settling, view
from autopilot.daemon.cli import status
from autopilot.daemon.digest import gather, render
from autopilot.daemon.loop import Loop
from autopilot.daemon.watch import Ending
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.cli import Cli
from tests.support.shop import GONE, Stage

URL = "https://forge.example/o/shop/pull/7"
STOPPED = Ending("the process ended with code 75", "cancelled")


@pytest.fixture
def loop(stage: Stage) -> Loop:
    """The loop of a shop whose one ticket is being published when the operator cancels it."""
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    stage.commit()
    loop.tick()
    assert stage.state() is State.PUBLISHING
    desk.cancel(stage.desk(), "1")
    return loop


def journal(stage: Stage, *entries: dict[str, object]) -> None:
    """What the publisher told before it was cut off."""
    publication = stage.publication()
    file = stage.paths.publish_dir(publication.run_id) / "publish-events.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"ts": 1, "publication": publication.id, **entry} for entry in entries]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


PUSHED: dict[str, object] = {"event": "publish.pushed", "head": queue.HEAD, "step": "push"}
OPENED: dict[str, object] = {"event": "publish.pr_opened", "number": 7, "url": URL, "code": "opened"}


def told_everywhere(stage: Stage) -> dict[str, str]:
    """What status, digest and show say."""
    shown = Cli(stage.paths.config_file.parent).call("show", "T-1")
    return {
        "status": "\n".join(status.lines(view.status(stage.desk()))),
        "digest": render.markdown(gather.night(stage.desk(), since_ms=0)),
        "show": shown.out,
    }


@pytest.mark.parametrize("ending", [STOPPED, GONE], ids=["stopped", "killed"])
def test_a_draft_that_a_cancel_came_too_late_for_is_named_with_the_way_to_close_it(
    stage: Stage, loop: Loop, ending: Ending
) -> None:
    journal(stage, PUSHED, OPENED)
    stage.supervisor.end(stage.publication().id, ending)
    loop.tick()
    assert stage.state() is State.CANCELLED
    publication = stage.publication()
    assert (publication.pushed, publication.pr_url, publication.pr_number) == (queue.HEAD, URL, 7)
    assert publication.pr_state == "open"
    for where, text in told_everywhere(stage).items():
        assert URL in text, where
        assert "autopilot review T-1 --closed" in text, where
    settling.settle(stage.desk(), "T-1", "closed")
    after = told_everywhere(stage)
    assert URL not in after["status"]
    assert "Drafts to close" not in after["digest"]
    assert f"draft: {URL} (closed)" in after["show"]


def test_a_branch_that_was_pushed_by_then_is_named(stage: Stage, loop: Loop) -> None:
    journal(stage, PUSHED)
    stage.supervisor.end(stage.publication().id, STOPPED)
    loop.tick()
    ticket = queue.look(stage.store, "T-1")
    assert ticket.state is State.CANCELLED
    assert f"its branch {ticket.branch} was pushed by then" in ticket.reason
    assert ticket.hint.endswith(f"if there is one by now, and delete {ticket.branch} there")


@pytest.mark.parametrize(
    "entry",
    [
        {"event": "publish.started"},
        {**OPENED, "number": "seven"},
        {**OPENED, "url": None},
        {**OPENED, "publication": "another"},
    ],
    ids=["begun", "no number", "no place", "another's"],
)
def test_where_nobody_can_say_how_far_it_came_the_branch_to_look_for_is_named(
    stage: Stage, loop: Loop, entry: dict[str, object]
) -> None:
    journal(stage, entry)
    stage.supervisor.end(stage.publication().id, STOPPED)
    loop.tick()
    ticket = queue.look(stage.store, "T-1")
    assert ticket.state is State.CANCELLED
    assert ticket.branch in ticket.hint
    assert stage.publication().pr_url is None


def test_a_cancel_that_comes_after_the_verdict_says_that_it_came_too_late(stage: Stage, loop: Loop) -> None:
    stage.publish()
    loop.tick()
    ticket = queue.look(stage.store, "T-1")
    assert ticket.state is State.PUBLISHED
    assert "cancelled too late" in ticket.reason
    digest = render.markdown(gather.night(stage.desk(), since_ms=0))
    assert "cancelled too late" in digest
    assert str(ticket.pr_url) in digest
