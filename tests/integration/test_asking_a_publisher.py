"""Whoever asks a publisher is told how it ended when it gives no report, and not that time ran out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from autopilot.config.secrets import variable_for
from autopilot.daemon import intake, question
from autopilot.daemon.checkup import forge, remote, tracker
from autopilot.daemon.delivery import trial
from autopilot.daemon.errand import Errand
from autopilot.schemas.errors import TransientError
from autopilot.schemas.publication import ReachReport
from autopilot.schemas.tracking import TrackerCheckSpec, TrackerSpec
from tests.support.repo_traps import write_script
from tests.support.scenes import REAL, limit, scene

DIES = "#!/bin/sh\necho 'Traceback: Boom' >&2\nexit 3\n"
CONFIG = """
report_channels = ["team"]
[[repo]]
name = "shop"
url = "https://git.example.org/o/r.git"
forge = "github"
project = "o/r"
credential = "shop"
[tracker.jira]
kind = "jira"
url = "https://jira.example.org"
credential = "shop"
projects = { ABC = "shop" }
[channels.team]
kind = "webhook"
credential = "shop"
"""


def publisher(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let this stand in for every child of ours; its last argument is the instruction."""
    script = folder / "python"
    if text:
        write_script(script, text)
    monkeypatch.setattr(sys, "executable", str(script))


def asked(wall_s: float = 30.0) -> ReachReport | str:
    spec = TrackerSpec(kind="jira", name="jira", url="https://jira.example.org")
    return question.answer(
        "reach",
        lambda report, workdir: TrackerCheckSpec(report=report, workdir=workdir, tracker=spec),
        ReachReport,
        key="asked",
        errand=Errand.to_tracker(spec),
        clock=REAL,
        wall_s=wall_s,
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (DIES, "told nothing (it was not written) and ended with code 3: Traceback: Boom"),
        ("#!/bin/sh\nkill -9 $$\n", "ended with signal 9"),
        (
            f'{DIES[:10]}\necho {{ > "$(dirname "$5")/report.json"\n',
            "(its report is none) and ended with code 0",
        ),
        (f'{DIES[:10]}\nln -s /dev/zero "$(dirname "$5")/report.json"\n', "(it cannot be opened: "),
        ("", "cannot be started: "),
    ],
)
def test_how_it_ended_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str) -> None:
    publisher(tmp_path, monkeypatch, text)
    found = asked()
    assert isinstance(found, str)
    assert told in found


def test_one_that_takes_too_long_is_told_by_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher(tmp_path, monkeypatch, "#!/bin/sh\nexec sleep 60\n")
    assert asked(0.3) == "the publisher was stopped before it knew: it took too long"


def test_everybody_who_asks_hands_it_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher(tmp_path, monkeypatch, DIES)
    monkeypatch.setenv(variable_for("shop"), "dummy")
    looked = scene(tmp_path / "home", CONFIG, clock=REAL, environment={variable_for("shop"): "dummy"})
    around = looked.settings, looked.paths, REAL
    lines = [
        *forge.forges(*around),
        *tracker.reaches(looked, limit()),
        *trial.tried(*around),
        remote.takes_our_branch(looked.settings.repos[0], looked, limit()),
    ]
    with pytest.raises(TransientError, match="tracker-silent") as raised:
        intake.of_reference({"reference": "ABC-7"}, looked.settings, REAL)
    said = [*(line.evidence for line in lines), raised.value.what]
    assert len(said) == 5
    assert [text for text in said if "ended with code 3: Traceback: Boom" not in text] == []
