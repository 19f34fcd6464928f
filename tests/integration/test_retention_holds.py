"""What held the queue long ago goes with the moves of that time; what held it lately stays."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.daemon.clearing import ROWS_MOST
from autopilot.daemon.store import past_holds, writes
from autopilot.schemas.ticket import Hold
from tests.support.past import DAY_S, clear, staged
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = staged(tmp_path)
    yield stage
    stage.store.close()


def known(stage: Stage) -> list[str]:
    with stage.store.read() as conn:
        return [one.name for one in past_holds.since(conn, 0)]


def test_they_go_by_their_end_and_one_that_stands_is_left(stage: Stage) -> None:
    old, standing, late = (
        Hold(name=name, scope="host", cause="c", since_ms=stage.clock.now_ms(), cure="d")
        for name in ("disk-low", "credential", "load-high")
    )
    writes.sync_holds(stage.store, [old, standing])
    writes.sync_holds(stage.store, [standing])
    clear(stage)
    assert known(stage) == ["disk-low"]
    stage.clock.advance(31 * DAY_S)
    writes.sync_holds(stage.store, [standing, late])
    writes.sync_holds(stage.store, [standing])
    clear(stage)
    assert known(stage) == ["load-high"]
    stage.store.check()


def test_any_number_of_them_goes_in_steps(stage: Stage) -> None:
    with closing(sqlite3.connect(stage.store.database)) as raw:
        raw.execute(
            "WITH RECURSIVE many(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM many LIMIT ?) INSERT INTO"
            " past_holds (name, scope, cause, cure, since_ms, until_ms, held_ms, times)"
            " SELECT 'dependency', 'ticket:T-' || n, 'x', 'x', n, n, 0, 1 FROM many",
            (3 * ROWS_MOST,),
        )
        raw.commit()
    stage.clock.advance(DAY_S)
    clear(stage)
    assert known(stage) == []
