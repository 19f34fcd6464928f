"""A tick that keeps failing is told with start, reason and cure; old holds are not shown as of now."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autopilot.daemon import launching, view
from autopilot.daemon.cli import status, why
from autopilot.daemon.clockwork import Passed
from autopilot.daemon.digest import gather, render
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.outlasting import Outlasting
from autopilot.daemon.shop import Shop
from autopilot.daemon.store import writes
from autopilot.daemon.trouble import LONGEST_TICK_S
from autopilot.schemas.errors import TransientError
from tests.support import queue
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    queue.add(stage.store)
    yield stage
    stage.store.close()


@pytest.fixture
def loop(stage: Stage) -> Loop:
    return Loop(stage.shop)


@pytest.fixture
def tick(loop: Loop) -> Outlasting:
    return Outlasting(loop)


def broken(*_: object, **__: object) -> object:
    raise ValueError("a \x1b[31mbug\n of ours")


def daemon(loop: Loop) -> dict[str, Any]:
    """What a living daemon says of itself."""
    about = {"pid": 1, "version": "1", "started_ms": 0, "is_draining": False}
    return {**about, "trouble": loop.complaints.troubles.shown}


def shown(stage: Stage, loop: Loop) -> str:
    """What `status` says."""
    return "\n".join(status.lines({**view.status(stage.desk()), "daemon": daemon(loop)}))


def told(stage: Stage, loop: Loop) -> str:
    """What `why` says."""
    return "\n".join(why.lines(view.why(stage.desk(), "T-1"), daemon=daemon(loop)))


def test_status_why_and_digest_say_since_when_and_why_ticks_fail_until_one_succeeds(
    stage: Stage, loop: Loop, tick: Outlasting, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick(())
    assert "tick fails" not in shown(stage, loop)
    assert "\nheld\n  switch-off" in shown(stage, loop)
    writes.turn_on(stage.store, by="test")
    with monkeypatch.context() as patch:
        patch.setattr(launching, "launch_all", broken)
        began_ms = stage.clock.now_ms()
        for _ in range(3):
            tick(())
            stage.clock.advance(60)
        found = loop.complaints.troubles.now
        assert found is not None
        assert (found.since_ms, found.ticks, found.reason) == (began_ms, 3, "ValueError: a bug of ours")
        for text in (shown(stage, loop), told(stage, loop)):
            assert "its tick fails since " in text
            assert "3 times in a row: ValueError: a bug of ours" in text
            assert f"→ {found.cure}" in text
        assert "\nheld, as of before " in shown(stage, loop)
        night = gather.night(stage.desk(), since_ms=0, trouble=found)
        assert "**The daemon's tick fails** since" in render.markdown(night)
        assert render.as_json(night)["trouble"]["ticks"] == 3
    tick(())
    assert loop.complaints.troubles.now is None
    assert "tick fails" not in shown(stage, loop)
    assert "tick fails" not in render.markdown(gather.night(stage.desk(), since_ms=0))


def test_the_digest_that_a_failing_tick_writes_says_so(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest_if_due(shop: Shop) -> int:
        return write_digest_if_due(shop, trouble=lambda: judge.complaints.troubles.now)

    judge = Loop(stage.shop, chores=[digest_if_due])
    tick = Outlasting(judge)
    tick(())
    monkeypatch.setattr(launching, "launch_all", broken)
    stage.clock.advance(24 * 3600)
    tick(())
    (digest,) = stage.paths.digests.glob("*.md")
    assert "**The daemon's tick fails** since" in digest.read_text()


def test_a_full_disk_is_told_with_its_own_cure(
    stage: Stage, loop: Loop, tick: Outlasting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> object:
        raise TransientError("database-full", "no room for the queue", hint="make room")

    with monkeypatch.context() as patch:
        patch.setattr(writes, "sync_holds", full)
        tick(())
        stage.clock.advance(2)
        tick(())
    found = loop.complaints.troubles.now
    assert found is not None
    assert (found.ticks, found.reason, found.cure) == (2, "no room for the queue", "make room")
    tick(())
    assert loop.complaints.troubles.now is None


def test_a_clock_that_cannot_be_followed_is_told(
    stage: Stage, loop: Loop, tick: Outlasting, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick(())
    tick.heed(Passed(slept_ms=0, set_ms=3_600_000, now_ms=stage.clock.now_ms()))
    with monkeypatch.context() as patch:
        patch.setattr("autopilot.daemon.store.steps.record", broken)
        tick(())
    assert "its tick fails since" in shown(stage, loop)
    tick(())
    assert loop.complaints.troubles.now is None


def test_a_tick_that_does_not_end_is_told_from_another_thread(stage: Stage, loop: Loop) -> None:
    troubles = loop.complaints.troubles
    began_ms = stage.clock.now_ms()
    with troubles.tick():
        stage.clock.advance(LONGEST_TICK_S - 1)
        assert not troubles.shown
        stage.clock.advance(1)
        found = troubles.shown
        assert found is not None
        assert (found["since_ms"], found["reason"]) == (began_ms, "one tick has not come to its end for 60 s")


def test_a_daemon_of_an_older_version_tells_nothing_of_it(stage: Stage) -> None:
    old = {"pid": 1, "version": "1", "started_ms": 0, "is_draining": False}
    assert "tick fails" not in "\n".join(status.lines({**view.status(stage.desk()), "daemon": old}))


def test_a_tick_that_ends_the_daemon_leaves_nothing_half_told(stage: Stage, loop: Loop) -> None:
    troubles = loop.complaints.troubles
    with contextlib.suppress(OSError), troubles.tick():
        raise OSError
    stage.clock.advance(2 * LONGEST_TICK_S)
    assert troubles.now is None


def test_the_reason_is_that_of_the_latest_tick_and_its_first_fault(stage: Stage, loop: Loop) -> None:
    troubles = loop.complaints.troubles
    since_ms = stage.clock.now_ms()
    for one, other in (("a", "b"), ("c", "d")):
        with troubles.tick():
            troubles.note(OSError(one))
            troubles.note(OSError(other))
        stage.clock.advance(5)
    shown = troubles.shown or {}
    assert (shown["since_ms"], shown["ticks"], shown["reason"]) == (since_ms, 2, "OSError: c")
