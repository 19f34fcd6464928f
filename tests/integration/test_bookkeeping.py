"""What only keeps books never fails a run: it leaves a line, and the daemon ends with a good code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from tests.support.house import House

BROKEN = """
import sys
from autopilot.daemon import app
from autopilot.daemon.cli import main
made = app.chores
def broken(shop):
    raise RuntimeError("the books are closed")
def chores(doors, own, *, trouble):
    first, drafts, *books = made(doors, own, trouble=trouble)
    return first, drafts, *(broken for _ in books)
app.chores = chores
sys.exit(main.run(["daemon", "run"]))
"""
"""Digest, copies, reconciling, retention, clean-up and deliveries of this daemon fail, each at each tick."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, argv=("-c", BROKEN))
    yield house
    house.clean_up()


@pytest.mark.slow
@pytest.mark.covers("B16")
def test_books_that_cannot_be_kept_leave_a_line_and_each_run_ends_with_its_draft(house: House) -> None:
    house.begin()
    names = [house.add(f"Ticket {number}") for number in range(2)]
    for name in names:
        ticket = house.daemon.wait_for_state(name, "published")
        assert (ticket["attempts"], ticket["sessions"], ticket["losses"]) == (1, 1, 0)
    assert len(house.pull_requests()) == len(names)
    line = house.daemon.wait_for_event(Event.TICK_FAILED)
    assert (line["level"], "the books are closed" in str(line)) == ("error", True)
    assert house.daemon.stop() == ExitCode.OK
