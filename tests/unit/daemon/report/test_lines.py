"""Which of doctor's lines a report asks is somebody's word for each line, and never by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup import lines as all_lines
from autopilot.daemon.checkup import who
from autopilot.daemon.checkup.scene import Scene
from autopilot.daemon.report import lines

CLOCK = SystemClock()
CONFIG = """
default_agent = "claude"
[[repo]]
name = "shop"
url = "https://forge.example/o/shop.git"
credential = "web"
"""


def names(tmp_path: Path) -> list[str]:
    paths = paths_below(tmp_path)
    paths.config_file.write_text(CONFIG)
    scene = Scene(paths=paths, clock=CLOCK, settings=load(paths), runner=who.ours())
    probes = (*all_lines.of_machine(paths, CLOCK), *all_lines.of_configuration(scene))
    return [probe.name for probe in probes]


def test_of_every_line_somebody_has_said_whether_a_report_asks_it(tmp_path: Path) -> None:
    for name in names(tmp_path):
        assert lines.is_asked(name) or lines.why_not(name) != lines.why_not("a line of tomorrow"), name


@pytest.mark.parametrize(
    "name",
    [
        "database",
        "tickets",
        "budget",
        "leases",
        "rehearsal",
        "account of claude",
        "base of shop",
        "push to shop",
    ],
)
def test_what_opens_the_queue_reaches_out_or_tries_something_is_not_asked(tmp_path: Path, name: str) -> None:
    assert name in names(tmp_path)
    assert not lines.is_asked(name)


def test_a_line_that_is_new_is_not_asked() -> None:
    assert not lines.is_asked("a line of tomorrow")
    assert lines.why_not("a line of tomorrow") == "nobody has looked yet at what it takes"
