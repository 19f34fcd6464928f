"""Which of doctor's lines a report asks goes by what each of them takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup.everything import every_probe
from autopilot.daemon.checkup.machine_lines import first
from autopilot.daemon.checkup.probe import Probe, Takes
from autopilot.daemon.report import lines
from autopilot.schemas.checkup import Area

CLOCK = SystemClock()
CONFIG = """
default_agent = "claude"
[[repo]]
name = "shop"
url = "https://forge.example/o/shop.git"
credential = "web"
"""


def probes(tmp_path: Path) -> dict[str, Probe]:
    paths = paths_below(tmp_path)
    paths.config_file.write_text(CONFIG)
    found, broken = every_probe(paths, CLOCK)
    assert not broken
    return {probe.name: probe for probe in (*found, first(paths))}


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        *(("database", Takes.QUEUE), ("tickets", Takes.QUEUE), ("budget", Takes.QUEUE)),
        *(("leases", Takes.QUEUE), ("backups", Takes.COPIES), ("rehearsal", Takes.TRIAL)),
        *(("account of claude", Takes.ACCOUNT), ("release of claude", Takes.PROGRAM)),
        *(("base of shop", Takes.TESTS), ("push to shop", Takes.NETWORK), ("forge", Takes.NETWORK)),
        *(("trackers", Takes.NETWORK), ("repository shop", Takes.NETWORK)),
        *(("set-up", Takes.MIRRORS), ("state", Takes.CHANGE)),
    ],
)
def test_what_opens_the_queue_reaches_out_or_tries_something_is_not_asked(
    tmp_path: Path, name: str, takes: Takes
) -> None:
    probe = probes(tmp_path)[name]
    assert probe.takes is takes
    assert not lines.is_asked(probe)
    assert lines.why_not(probe).startswith(takes.value)


def test_every_other_line_is_asked(tmp_path: Path) -> None:
    assert {name for name, probe in probes(tmp_path).items() if lines.is_asked(probe)} == {
        *("agent claude", "channels", "clock", "configuration", "credential web", "credentials", "daemon"),
        *("git", "guard", "identity", "installations", "key of claude", "lid", "limits", "logs"),
        *("git sign-in of shop", "notification"),
        *("own account", "power", "programs", "room", "sandbox", "service", "session", "sign-in of claude"),
        *("sleep lock", "sqlite", "time zone", "units"),
    }


def test_a_probe_that_does_not_say_what_it_takes_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="takes"):
        Probe(name="a line of tomorrow", area=Area.NIGHT, look=lambda _: ())  # type: ignore[call-arg]
