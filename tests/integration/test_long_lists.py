"""A list of a long queue costs the daemon what the answer is long, not many times as much."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon import desk as verbs
from autopilot.daemon.api.answer import content_of
from autopilot.daemon.api.call import Call
from autopilot.daemon.api.routes import Routes
from tests.support import queue
from tests.support.shop import Stage

TICKETS = 450
"""More than two pieces of those in which they are read."""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    for number in range(TICKETS):
        queue.add(stage.store, f"Ticket {number + 1}", body="What is to be done, and why. " * 40)
    queue.add(stage.store, "The last", depends_on=["T-1", f"T-{TICKETS}"])
    yield stage
    stage.store.close()


@pytest.fixture
def routes(stage: Stage) -> Routes:
    return Routes(stage.store, desk=stage.desk, inbox=stage.inbox, about=dict)


@pytest.mark.field_report("DMN-050")
def test_dmn_050_to_list_a_long_queue_takes_little_more_memory_than_the_answer(routes: Routes) -> None:
    call = Call("GET", "/v1/tickets")
    size = len(content_of(routes(call)))
    assert size > 500_000
    tracemalloc.start()
    try:
        content = content_of(routes(call))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(content) == size
    assert most < 2.5 * size


def test_a_long_list_is_the_same_by_the_daemon_and_without_it(stage: Stage, routes: Routes) -> None:
    alone = verbs.tickets(stage.desk())
    assert [one["title"] for one in alone["tickets"]] == [
        *(f"Ticket {number + 1}" for number in range(TICKETS)),
        "The last",
    ]
    assert alone["tickets"][-1]["depends_on"] == ["T-1", f"T-{TICKETS}"]
    assert bytes(content_of(routes(Call("GET", "/v1/tickets")))) == json.dumps(alone).encode()


def test_the_newest_of_a_long_list_are_given_oldest_first(routes: Routes) -> None:
    asked = Call("GET", "/v1/tickets", {"limit": "250", "state": "queued"})
    names = [one["id"] for one in json.loads(content_of(routes(asked)))["tickets"]]
    assert names == [f"T-{number}" for number in range(TICKETS + 2 - 250, TICKETS + 2)]


@pytest.mark.parametrize("body", [{}, {"one": 1}, {"a": "ü", "b": {"c": None}, "d": [], "e": ["x", {}]}])
def test_what_comes_piece_by_piece_is_written_as_what_comes_whole(body: dict[str, object]) -> None:
    pieces = {name: iter(value) if isinstance(value, list) else value for name, value in body.items()}
    assert bytes(content_of(body)) == bytes(content_of(pieces)) == json.dumps(body).encode()
