"""In whose session the machine was looked over is said; what is asked for a daemon has its environment."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup import everything, lines, remote, session, who
from autopilot.daemon.checkup.probe import Limit, Purpose
from autopilot.daemon.checkup.scene import Runner, Scene
from autopilot.schemas.checkup import Check

DAEMON = Runner(who="the daemon (pid 7)", environment={"PATH": "/daemon", "HOME": "/home/daemon"})
SERVICE = Runner(who="the service (systemd)", environment={"PATH": "/service"}, is_service=True)


def scene(home: Path, runner: Runner) -> Scene:
    (home / "config.toml").write_text('[[repo]]\nname = "shop"\nurl = "https://127.0.0.1:1/o/shop.git"\n')
    paths = paths_below(home).ensure()
    return Scene(paths=paths, clock=SystemClock(), settings=load(paths), runner=runner)


@pytest.mark.field_report("DMN-001")
def test_what_nobody_asks_again_in_the_services_own_session_is_named(tmp_path: Path) -> None:
    probes = lines.of_configuration(scene(tmp_path, SERVICE))
    (probe,) = (each for each in probes if each.name == session.NAME)
    (line,) = probe.look(Limit(SystemClock(), SystemClock().monotonic_s() + 5))
    told, _, alone = line.evidence.partition("in this one alone: ")
    assert "asked in this terminal, with PATH and variables of the service (systemd)" in told
    named = set(alone.split(", "))
    assert {"push to shop", "base of shop", "rehearsal"} <= named
    again = {each.name for each in probes if Purpose.TICK in each.asked_by}
    assert "repository shop" in again
    assert not named & again


def test_a_daemon_of_this_terminal_has_its_session() -> None:
    assert (
        session.line(who.ours(), ["push"]).evidence
        == "all is asked in this terminal, which starts the daemon"
    )


@pytest.mark.parametrize(("purpose", "asked_in"), [(Purpose.TICK, "daemon"), (Purpose.ARMING, "terminal")])
def test_each_line_says_in_whose_session_it_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, purpose: Purpose, asked_in: str
) -> None:
    monkeypatch.setattr(everything, "every_probe", lambda *_, **__: ((), _lines()))
    monkeypatch.setattr("autopilot.daemon.checkup.side_by_side.look", lambda *_: _lines())
    found = everything.check_all(paths_below(tmp_path), SystemClock(), purpose=purpose)
    assert {line.asked_in for line in found} == {asked_in}
    assert asked_in in get_args(Check.model_fields["asked_in"].annotation)


def _lines() -> tuple[Check, ...]:
    return (Check.model_validate({"name": "one", "verdict": "go", "evidence": "seen"}),)


@pytest.mark.field_report("DMN-001", "DMN-010")
def test_what_is_asked_for_a_daemon_that_runs_starts_from_its_environment_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://of.the.terminal:1")
    assert DAEMON.surroundings == DAEMON.environment
    assert SERVICE.surroundings == {**os.environ, "PATH": "/service"}
    assert who.ours().surroundings == os.environ


@pytest.mark.field_report("DMN-001", "DMN-010")
def test_a_remote_is_asked_with_the_programs_of_whoever_will_fetch(tmp_path: Path) -> None:
    """A git that this terminal finds, and the daemon does not, answered for it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    git = programs / "git"
    git.write_text('#!/bin/sh\necho "0123456789abcdef0123456789abcdef01234567 $HOME"\n')
    git.chmod(0o755)
    runner = replace(DAEMON, environment={"PATH": str(programs), "HOME": "/home/daemon"})
    asked = scene(tmp_path, runner)
    line = remote.answers(
        asked.settings.repos[0], asked, Limit(SystemClock(), SystemClock().monotonic_s() + 20)
    )
    assert (line.verdict, line.evidence.rpartition(" ")[2]) == ("go", "0123456789ab")
