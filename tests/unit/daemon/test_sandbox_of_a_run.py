"""What a run was locked up in is its own record: what is configured by now says nothing about it."""

from __future__ import annotations

import argparse
import json

import pytest

from autopilot.daemon import desk
from autopilot.daemon.cli import door, show
from autopilot.daemon.digest import gather, render
from autopilot.daemon.loop import Loop
from autopilot.schemas.cell import OpenedKind
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.shop import Stage

NONE = 'sandbox = { kind = "none" }\n'


def configure(stage: Stage, *, is_open: bool) -> None:
    file = stage.paths.config_file
    file.write_text((NONE if is_open else "") + file.read_text().removeprefix(NONE))
    stage.current.refresh()


def run(stage: Stage, kind: OpenedKind | None, *, journal: str | None = None) -> None:
    """Let a ticket come to a commit in a sandbox of this kind, and its publisher start."""
    ticket = queue.add(stage.store)
    loop = Loop(stage.shop)
    loop.tick()
    claim = stage.claim_of(ticket.id)
    if journal is not None:
        line = {"ts": 1, "event": "run.started", "run": claim.attempt.run_id, "sandbox": journal}
        (stage.paths.run_dir(claim.attempt.run_id) / "events.jsonl").write_text(json.dumps(line) + "\n")
    stage.hand_in(queue.result(claim, base="main", sandbox=kind))
    loop.tick()
    assert stage.state(ticket.id) is State.PUBLISHING


def digest(stage: Stage) -> str:
    return render.markdown(gather.night(stage.desk(), since_ms=stage.clock.now_ms() - gather.DAY_MS))


@pytest.mark.parametrize(("kind", "is_open"), [("none", False), ("bubblewrap", True)])
def test_the_publisher_is_told_what_the_run_had_and_not_what_is_configured(
    stage: Stage, kind: OpenedKind, is_open: bool
) -> None:
    configure(stage, is_open=not is_open)
    queue.add(stage.store)
    loop = Loop(stage.shop)
    loop.tick()
    stage.hand_in(queue.result(stage.claim_of("T-1"), base="main", sandbox=kind))
    configure(stage, is_open=is_open)
    loop.tick()
    (spec,) = stage.publish_specs()
    assert (spec.run_sandbox, spec.sandbox.kind) == (kind, "none" if is_open else "auto")


@pytest.mark.parametrize("kind", ["none", "landlock"])
def test_the_digest_names_the_tickets_of_a_weak_sandbox_whatever_is_configured(
    stage: Stage, kind: OpenedKind
) -> None:
    run(stage, kind)
    stage.publish()
    Loop(stage.shop).tick()
    told = digest(stage)
    head = told.split("\n## ")[0]
    assert f"**Sandbox: {kind}** in runs of T-1: " in head
    assert "as configured" not in head


def test_a_night_in_whole_sandboxes_is_not_called_open_because_the_next_one_is(stage: Stage) -> None:
    run(stage, "bubblewrap")
    configure(stage, is_open=True)
    head = digest(stage).split("\n## ")[0]
    assert "**Sandbox: none** from now on, as configured" in head
    assert "in runs of" not in head


def test_a_result_from_before_it_was_recorded_is_filled_up_from_the_journal(stage: Stage) -> None:
    run(stage, None, journal="landlock")
    assert [spec.run_sandbox for spec in stage.publish_specs()] == ["landlock"]
    assert "**Sandbox: landlock** in runs of T-1: " in digest(stage)


@pytest.mark.parametrize("journal", [None, "a cage"])
def test_what_nobody_wrote_down_is_not_taken_for_a_sandbox(stage: Stage, journal: str | None) -> None:
    run(stage, None, journal=journal)
    assert [spec.run_sandbox for spec in stage.publish_specs()] == [None]
    assert "Sandbox:" not in digest(stage)
    stage.publish()
    Loop(stage.shop).tick()
    assert "**Sandbox: not recorded** in runs of T-1: " in digest(stage)


def test_a_run_that_was_lost_tells_by_its_journal_what_it_had(stage: Stage) -> None:
    queue.add(stage.store)
    loop = Loop(stage.shop)
    loop.tick()
    run_id = stage.claim_of("T-1").attempt.run_id
    line = {"ts": 1, "event": "run.started", "run": run_id, "sandbox": "none"}
    (stage.paths.run_dir(run_id) / "events.jsonl").write_text(json.dumps(line) + "\n")
    assert "**Sandbox: none** in runs of T-1: " in digest(stage)
    stage.supervisor.end(run_id)
    loop.tick()
    assert stage.state() is State.QUEUED
    assert "**Sandbox: none** in runs of T-1: " in digest(stage)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("bubblewrap", "bubblewrap"),
        ("landlock", "landlock: it is weaker than bubblewrap"),
        (None, "not recorded: nobody wrote down which it was"),
    ],
)
def test_show_says_of_each_run_what_it_had_and_what_that_left_open(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: OpenedKind | None,
    told: str,
) -> None:
    run(stage, kind)
    (attempt,) = (shown := desk.show(stage.desk(), "T-1"))["attempts"]
    assert attempt["sandbox"] == kind
    monkeypatch.setattr(door, "ask", lambda *_, **__: shown)
    assert show.run(argparse.Namespace(ticket="T-1", json=False)) is ExitCode.OK
    line = next(line for line in capsys.readouterr().out.splitlines() if "sandbox of" in line)
    assert f"sandbox of {attempt['run_id']}: {told}" in line


def test_show_says_nothing_of_the_sandbox_of_a_run_that_has_not_spoken_yet(stage: Stage) -> None:
    queue.add(stage.store)
    Loop(stage.shop).tick()
    (attempt,) = desk.show(stage.desk(), "T-1")["attempts"]
    assert (attempt["sandbox"], attempt["left_open"]) == (None, "")
