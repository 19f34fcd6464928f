"""Daemon and publisher die as a draft is opened; its ticket is cancelled before a daemon is back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.mortality import LONG_S, NOBODY, Plan, mortal_house
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
BOTH = ("daemon", "publisher")


@pytest.mark.parametrize(
    ("manner", "is_known"),
    [("after", True), ("before", False)],
    ids=["it is in the journal", "nobody wrote it down"],
)
def test_a_draft_opened_just_before_its_ticket_was_cancelled_is_named_or_said_to_be_possible(
    tmp_path: Path, manner: str, *, is_known: bool
) -> None:
    mortality = mortal_house(tmp_path)
    house = mortality.house
    plan = Plan(role="publisher", kills=BOTH, manners=(manner,), steps="^line publish.pr_opened")
    try:
        house.begin()
        mortality.follow(plan)
        name = house.add()
        process = house.daemon.process
        assert process is not None
        wait_until(lambda: process.poll() is not None, LONG_S, f"both are dead; {house.daemon.said()}")
        mortality.follow(NOBODY)
        (draft,) = house.pull_requests()
        assert house.daemon.autopilot("cancel", name).returncode == 0
        house.daemon.start()
        assert house.daemon.wait_for_state(name, "cancelled", "published")["state"] == State.CANCELLED
        told = [house.daemon.autopilot(*words).stdout for words in (("show", name), ("status",), ("digest",))]
        if is_known:
            assert all(draft.url in text and f"review {name} --closed" in text for text in told), told
        else:
            assert all(
                "close its draft at the forge, if there is one" in " ".join(text.split())
                for text in told[::2]
            )
        with closing(house.daemon.store()) as store:
            assert queue.look(store, name).branch == draft.branch
        if is_known:
            house.assert_in_order()
    finally:
        house.clean_up()
