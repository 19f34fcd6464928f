"""A start that takes longer than a lease: what an earlier daemon left running is looked after meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon import app
from autopilot.daemon.interim import leases_kept_up, unfinished
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import engine, writes
from autopilot.daemon.store.engine import Store
from autopilot.schemas.errors import ConfigError, ExitCode
from tests.support import queue
from tests.support.shop import Stage
from tests.support.wait import wait_until

Patch = pytest.MonkeyPatch


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A run under way, with its lease, and a daemon that has died."""
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test")
    queue.add(stage.store)
    Loop(stage.shop).tick()
    lease_of(stage).touch()
    stage.store.close()
    return stage


def lease_of(stage: Stage) -> Path:
    order = stage.supervisor.launches[-1].order
    assert order.lease is not None
    return order.lease


def long_step(lease: Path) -> Callable[..., None]:
    """Give a step of the start that lasts until the lease was renewed twice, and then fails."""

    def last(*_: object, **__: object) -> None:
        seen: set[int] = set()

        def is_renewed_twice() -> bool:
            seen.add(lease.stat().st_mtime_ns)
            return len(seen) > 2

        wait_until(is_renewed_twice, 60, "the lease is renewed twice")
        raise ConfigError("database-damaged", "as asked by the test")

    return last


def opened(patch: Patch, step: Callable[..., None]) -> None:
    patch.setattr(app, "open_store", step)


def checked(patch: Patch, step: Callable[..., None]) -> None:
    patch.setattr(engine, "LARGE_BYTES", 1)
    patch.setattr(Store, "check", step)


def recovered(patch: Patch, step: Callable[..., None]) -> None:
    patch.setattr(Loop, "recover", step)


@pytest.mark.parametrize("slow", [opened, checked, recovered])
def test_however_long_a_start_takes_the_leases_of_live_runs_are_kept_up(
    stage: Stage, monkeypatch: Patch, slow: Callable[[Patch, Callable[..., None]], None]
) -> None:
    slow(monkeypatch, long_step(lease_of(stage)))
    if slow is opened:
        with pytest.raises(ConfigError, match="as asked"):
            app.run_daemon(stage.paths, stage.settings, SystemClock())
    else:
        assert app.run_daemon(stage.paths, stage.settings, SystemClock()) == ExitCode.CONFIG
    assert [one.name for one in threading.enumerate() if one.name == "interim"] == []


def test_what_has_told_how_it_ended_is_left_alone(stage: Stage) -> None:
    run_lease = lease_of(stage)
    run_dir = run_lease.parent
    assert unfinished(stage.paths) == (run_lease,)
    (run_dir / "result.json").touch()
    assert unfinished(stage.paths) == ()
    (run_dir / "publish").mkdir()
    (run_dir / "publish" / "lease").touch()
    assert unfinished(stage.paths) == (run_dir / "publish" / "lease",)
    verdict = stage.paths.verdict(run_dir.name)
    verdict.parent.mkdir(exist_ok=True)
    verdict.touch()
    assert unfinished(stage.paths) == ()


def test_folders_that_are_gone_or_strange_end_nothing(stage: Stage) -> None:
    (stage.paths.runs / "a file").touch()
    (stage.paths.runs / "dangling").symlink_to("nowhere")
    lease = lease_of(stage)
    before = lease.stat().st_mtime_ns
    with leases_kept_up(stage.paths):
        wait_until(lambda: lease.stat().st_mtime_ns != before, 60, "it is renewed")
    assert not (stage.paths.runs / "dangling").exists()


def test_where_no_thread_can_be_had_the_start_goes_on(stage: Stage, monkeypatch: Patch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with leases_kept_up(stage.paths) as end:
        end()
