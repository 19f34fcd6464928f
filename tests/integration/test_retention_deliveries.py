"""What went out has its time too, with its mark; what is on its way stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon.delivery import waiting
from autopilot.daemon.store import deliveries
from autopilot.daemon.store.deliveries import Delivery
from autopilot.daemon.store.unit import in_one
from autopilot.schemas.units import MS_PER_S
from tests.support import wire
from tests.support.past import DAY_S, clear, staged
from tests.support.shop import Stage

SUBJECTS = ("digest 2026-01-01", "digest 2026-01-02")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = staged(tmp_path)
    yield stage
    stage.store.close()


def a_waiting(stage: Stage, subject: str) -> Delivery:
    in_one(stage.store, lambda unit: deliveries.enqueue(unit, subject, "team", kind="digest", text="x"))
    with stage.store.read() as conn:
        return next(one for one in deliveries.unfinished(conn) if one.subject == subject)


def sent(stage: Stage, subject: str) -> Delivery:
    under_way = deliveries.begin(stage.store, a_waiting(stage, subject))
    return deliveries.end(stage.store, under_way, "sent", code="", reason="")


def known(stage: Stage) -> list[str]:
    with stage.store.read() as conn:
        both = (*deliveries.ended_since(conn, 0), *deliveries.unfinished(conn))
    return [one.subject for one in both]


def test_what_ended_long_ago_goes_and_what_is_on_its_way_stays(stage: Stage) -> None:
    sent(stage, SUBJECTS[0])
    a_waiting(stage, SUBJECTS[1])
    clear(stage)
    assert known(stage) == [*SUBJECTS]
    stage.clock.advance(31 * DAY_S)
    clear(stage)
    assert known(stage) == [SUBJECTS[1]]
    stage.store.check()


def test_folders_go_by_their_age_with_their_marks(stage: Stage) -> None:
    now_s = stage.clock.now_ms() / MS_PER_S
    for subject, age_s in zip(SUBJECTS, (400 * DAY_S, DAY_S), strict=True):
        folder = waiting.folder_of(stage.paths, sent(stage, subject))
        folder.mkdir(parents=True)
        (folder / waiting.MARK_FILE).write_text("1-1\n")
        os.utime(folder, (now_s - age_s, now_s - age_s))
    stage.clock.advance(DAY_S)
    clear(stage)
    kept = [path.parent for path in stage.paths.deliveries.glob(f"*/{waiting.MARK_FILE}")]
    with stage.store.read() as conn:
        newest = deliveries.ended_since(conn, 0)[-1]
    assert kept == [waiting.folder_of(stage.paths, newest)]


def test_every_look_finds_its_rows_by_an_index(stage: Stage) -> None:
    sent(stage, SUBJECTS[0])
    with wire.traced() as statements, stage.store.read() as conn:
        deliveries.untold(conn, 1)
        deliveries.opened_drafts(conn, 1)
        assert deliveries.is_known(conn, SUBJECTS[0], "team")
        looks = [each for each in statements if each.startswith("SELECT")]
        plans = [conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {each}").all() for each in looks]
    assert len(plans) == 4
    assert [
        row[3] for plan in plans for row in plan if row[3].startswith("SCAN") and "ix_" not in row[3]
    ] == []
