"""The units as text: each key, and values that need quoting."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.launchd import systemd_units
from autopilot.launchd.systemd_units import AWAKE, DAEMON, NOTICE, units
from tests.unit.launchd.services import HOME, ODD, PLAIN


def keys(unit: str) -> dict[str, list[str]]:
    """Every key with its values, whatever the section."""
    found: dict[str, list[str]] = {}
    for line in unit.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith(("#", "[")):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.covers("D06")
@pytest.mark.field_report("DMN-006", "DMN-047")
def test_the_daemon_is_watched_started_again_and_given_up_in_the_end() -> None:
    daemon = keys(units(PLAIN)[DAEMON])
    assert "PIDFile" not in daemon
    wanted = {
        "Type": "notify", "NotifyAccess": "main", "WatchdogSec": "90", "Restart": "on-failure",
        "RestartPreventExitStatus": "3 78", "StartLimitBurst": "10", "StartLimitIntervalSec": "1800",
        "OnFailure": NOTICE, "KillMode": "mixed", "TimeoutStartSec": "3600", "TimeoutStopSec": "105",
        "WantedBy": "default.target",
    }  # fmt: skip
    assert {name: daemon[name] for name in wanted} == {name: [value] for name, value in wanted.items()}


def test_a_burst_of_the_slowest_failures_still_ends() -> None:
    from autopilot.launchd import service

    slowest_s = service.WATCHDOG_S + service.ABORT_WITHIN_S + service.RESTART_AFTER_S
    assert slowest_s * service.BURST < service.BURST_WITHIN_S


@pytest.mark.field_report("DMN-010", "DMN-012")
def test_program_and_path_stand_in_full_and_odd_characters_are_quoted() -> None:
    daemon = units(ODD)[DAEMON]
    quoted = HOME.replace('"', '\\"').replace("%", "%%")
    assert f'ExecStart=":{quoted}/venv/bin/python" "-P" "-m" "autopilot.daemon.cli" "daemon" "run"' in daemon
    assert f'Environment="PATH={quoted}/bin:/usr/bin:/bin"' in daemon
    assert f'Environment="HOME={quoted}"' in daemon
    assert systemd_units.variable_of(daemon, "AUTOPILOT_HOME") == f"{HOME}/state"
    assert systemd_units.variable_of(units(PLAIN)[DAEMON], "AUTOPILOT_HOME") == ""


def test_what_keeps_the_machine_awake_ends_with_the_daemon_and_does_not_come_up_by_itself() -> None:
    awake = keys(units(ODD)[AWAKE])
    assert awake["BindsTo"] == [DAEMON]
    assert "WantedBy" not in awake
    assert awake["ExecStart"][0].startswith('":/usr/bin/systemd-inhibit" "--why=it is $HOME\\\\s night"')
    assert AWAKE not in units(PLAIN)


def test_every_unit_says_who_wrote_it(tmp_path: Path) -> None:
    assert {unit.splitlines()[0] for unit in units(ODD).values()} == {systemd_units.HEAD}
