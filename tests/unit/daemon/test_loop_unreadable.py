"""A row of a ticket under way that cannot be read: that ticket's trouble, and nobody else's."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from autopilot.daemon import setting_apart
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import queries_runs
from autopilot.daemon.store.mend import mend
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.shop import Stage

SPOIL = {
    column: f"UPDATE tickets SET {column} = 'not readable' WHERE short_id = 1"  # noqa: S608 - our words
    for column in ("acceptance", "not_before_ms", "created_ms")
}


@pytest.fixture
def loop(stage: Stage) -> Loop:
    return Loop(stage.shop)


@pytest.mark.parametrize("is_published", [False, True], ids=["running", "publishing"])
@pytest.mark.parametrize("column", SPOIL)
def test_a_row_under_way_that_cannot_be_read_keeps_no_daemon_from_starting_and_no_other_from_being_judged(
    stage: Stage, loop: Loop, column: str, is_published: bool
) -> None:
    two_under_way(stage, loop, is_published=is_published)
    with stage.store.write() as conn:
        conn.execute(text(SPOIL[column]))
    goes_on(stage, is_published=is_published)


@pytest.mark.parametrize("is_published", [False, True], ids=["running", "publishing"])
def test_nor_does_one_that_cannot_be_mended(
    stage: Stage, loop: Loop, is_published: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_under_way(stage, loop, is_published=is_published)
    with stage.store.write() as conn:
        conn.execute(text(SPOIL["acceptance"]))
    monkeypatch.setattr(setting_apart, "mend", lambda _store: {})
    goes_on(stage, is_published=is_published)
    assert len(list(stage.supervisor.live())) == 1, "nobody took the child of the other for a stranger"


def test_a_fault_that_is_no_rows_waits_for_nobody_and_writes_nothing(stage: Stage) -> None:
    queue.add(stage.store)
    with stage.store.write():  # whoever else would write waits
        assert mend(stage.store) == {}


def two_under_way(stage: Stage, loop: Loop, *, is_published: bool) -> None:
    for repo in ("shop", "till"):
        queue.add(stage.store, repo=repo)
    loop.tick()
    if is_published:
        for name in ("T-1", "T-2"):
            stage.commit(name)
        loop.tick()


def goes_on(stage: Stage, *, is_published: bool) -> None:
    """The daemon that comes next judges the second, whose child left its word."""
    again = Loop(stage.shop)
    again.recover()
    if is_published:
        with stage.store.read() as conn:
            (live,) = [one for one in queries_runs.publishing_singly(conn) if one.ticket.id == "T-2"]
        stage.judge(queue.verdict(live, PublishOutcome.PR_OPENED))
    else:
        stage.hand_in(queue.result(stage.claim_of("T-2"), Outcome.NO_CHANGES))
    for _ in range(2):
        again.tick()
    assert stage.state("T-2") is (State.PUBLISHED if is_published else State.PARKED)
