"""What doctor says of work under way that nobody looks after."""

from __future__ import annotations

from autopilot.daemon.checkup.leases import overdue
from autopilot.daemon.loop import Loop
from autopilot.schemas.checkup import CheckVerdict
from tests.support import queue
from tests.support.shop import Stage


def seen(stage: Stage) -> list[str]:
    checks = list(overdue(stage.paths, stage.clock))
    assert all(check.verdict is CheckVerdict.WARNING and check.cure for check in checks)
    return [check.evidence for check in checks]


def test_a_run_and_then_its_publication_are_named_once_their_lease_has_passed(stage: Stage) -> None:
    queue.add(stage.store)
    loop = Loop(stage.shop)
    loop.tick()
    stage.clock.advance(60)
    assert seen(stage) == []
    stage.clock.advance(1)
    assert seen(stage) == ["nobody looks after what runs for T-1 since 2026-01-02T00:01:00.000Z"]
    loop.tick()
    assert seen(stage) == []
    stage.commit()
    loop.tick()
    stage.clock.advance(61)
    assert seen(stage) == ["nobody looks after what runs for T-1 since 2026-01-02T00:02:01.000Z"]


def test_where_nothing_is_under_way_or_there_is_no_queue_yet_nothing_is_said(stage: Stage) -> None:
    queue.add(stage.store)
    stage.clock.advance(3600)
    assert seen(stage) == []
    stage.store.database.rename(stage.store.database.with_name("away"))
    assert seen(stage) == []


def test_a_queue_that_cannot_be_read_is_told_by_another_line(stage: Stage) -> None:
    stage.store.database.write_bytes(b"no database")
    assert seen(stage) == []
