"""A run's sleep lock: held for exactly as long as the run, and never a reason for it not to run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from autopilot.config import logs, proc
from autopilot.daemon import children
from autopilot.launchd import awake, power
from autopilot.schemas.events import Event
from tests.support.shop import Stage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fake stands in for logind's own program")

HOLDS = """#!/bin/sh
while case "$1" in --*) true;; *) false;; esac; do shift; done
echo $$ > "$HELD_BY"
exec "$@"
"""
REFUSES = "#!/bin/sh\necho 'Access denied' >&2\nexit 1\n"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    logs.setup(stage.paths.logs, clock=stage.clock, stderr=False, level="debug", max_size_mib=1, keep_files=1)
    yield stage
    structlog.reset_defaults()
    stage.store.close()


def lines(stage: Stage) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (stage.paths.logs / logs.LOG_FILE).read_text().splitlines()]


def own_process() -> proc.ProcessId:
    found = proc.identity_of(os.getpid())
    assert found is not None
    return found


def put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    held_by = folder / "held-by"
    program = folder / "bin" / "systemd-inhibit"
    program.parent.mkdir()
    program.write_text(text.replace('"$HELD_BY"', f"'{held_by}'"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return held_by


def test_the_lock_is_held_while_the_run_lives_and_let_go_with_it(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_by = put_on_path(tmp_path, monkeypatch, HOLDS)
    order = children.runner_order(stage.shop, "T-1-a1-00000001", fence=1)
    with order.keep_awake(own_process()):
        holder = proc.identity_of(int(held_by.read_text()))
        assert holder is not None
    assert not proc.is_alive(holder)
    assert [line["event"] for line in lines(stage)] == [Event.AWAKE_HELD, Event.AWAKE_RELEASED]


def test_without_a_lock_the_run_goes_on_and_the_log_names_the_reason(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(tmp_path, monkeypatch, REFUSES)
    with children.runner_order(stage.shop, "T-1-a1-00000001", fence=1).keep_awake(own_process()):
        (line,) = lines(stage)
    assert (line["event"], line["level"], line["reason"]) == (
        Event.AWAKE_UNAVAILABLE,
        "warning",
        "awake-refused",
    )


def test_a_lock_that_cannot_even_be_tried_is_no_reason_not_to_run(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(tmp_path, monkeypatch, HOLDS)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "no such folder"))
    with children.runner_order(stage.shop, "T-1-a1-00000001", fence=1).keep_awake(own_process()):
        (line,) = lines(stage)
    assert (line["event"], line["reason"]) == (Event.AWAKE_UNAVAILABLE, "awake-not-started")


def test_with_the_lock_switched_off_nothing_is_tried(stage: Stage) -> None:
    config = stage.paths.config_file
    config.write_text(config.read_text() + "[awake]\nenabled = false\n")
    stage.current.refresh()
    with children.runner_order(stage.shop, "T-1-a1-00000001", fence=1).keep_awake(own_process()):
        assert not (stage.paths.logs / logs.LOG_FILE).read_text()


@pytest.mark.covers("D02")
@pytest.mark.parametrize(
    ("said", "is_on_mains", "more"),
    [
        ("", True, awake.More()),
        ("display = true", True, awake.More(display=True)),
        ('lid = "always"', False, awake.More(lid=True)),
        ('lid = "on-mains"', True, awake.More(lid=True)),
        ('lid = "on-mains"', None, awake.More(lid=True)),
        ('lid = "on-mains"', False, awake.More()),
    ],
)
def test_what_is_held_off_besides_sleep_is_what_the_configuration_says_and_the_power_allows(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, said: str, is_on_mains: bool | None, more: awake.More
) -> None:
    asked: list[awake.More] = []

    def hold(*, more: awake.More, **_: object) -> awake.AwakeLock:
        asked.append(more)
        return awake.AwakeLock("logind")

    monkeypatch.setattr(awake, "hold", hold)
    monkeypatch.setattr(power, "is_on_mains", lambda: is_on_mains)
    config = stage.paths.config_file
    config.write_text(config.read_text() + f"[awake]\nenabled = true\n{said}\n")
    stage.current.refresh()
    with children.runner_order(stage.shop, "T-1-a1-00000001", fence=1).keep_awake(own_process()):
        pass
    assert asked == [more]


def test_a_refused_lid_is_told_although_the_rest_is_held(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = awake.AwakeLock("logind", "awake-lid-refused", "Access denied")
    monkeypatch.setattr(awake, "hold", lambda **_: lock)
    with children.runner_order(stage.shop, "T-1-a1-00000001", fence=1).keep_awake(own_process()):
        told = lines(stage)
    assert [line["event"] for line in told] == [Event.AWAKE_UNAVAILABLE, Event.AWAKE_HELD]
    assert told[0]["reason"] == "awake-lid-refused"
