"""The property lists against the table of keys and types: Linux has no other judge of them."""

from __future__ import annotations

import plistlib
from typing import Any

import pytest

from autopilot.launchd.plists import AWAKE, DAEMON, faults, plists
from tests.unit.launchd.services import HOME, ODD, PLAIN


def daemon_list() -> dict[str, Any]:
    content: dict[str, Any] = plistlib.loads(plists(ODD)[DAEMON])
    return content


@pytest.mark.parametrize("label", [DAEMON, AWAKE])
def test_what_is_written_has_no_faults(label: str) -> None:
    assert list(faults(plists(ODD)[label])) == []


@pytest.mark.covers("D06")
@pytest.mark.field_report("DMN-010", "DMN-012")
def test_the_daemon_is_kept_up_on_failure_alone_and_its_program_stands_in_full() -> None:
    content = daemon_list()
    assert content["ProgramArguments"][0] == f"{HOME}/venv/bin/python"
    assert content["ProgramArguments"][1:] == ["-P", "-m", "autopilot.daemon.cli", "daemon", "run"]
    assert content["EnvironmentVariables"]["PATH"] == f"{HOME}/bin:/usr/bin:/bin"
    assert content["EnvironmentVariables"]["HOME"] == HOME
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    assert (content["Label"], content["ProcessType"]) == ("dev.autopilot.daemon", "Interactive")
    assert content["ExitTimeOut"] == ODD.stop_s


@pytest.mark.field_report("DMN-015")
def test_a_log_in_after_a_cold_boot_starts_it_whatever_the_hour() -> None:
    content = daemon_list()
    assert content["RunAtLoad"] is True
    assert "StartCalendarInterval" not in content


@pytest.mark.covers("D01")
def test_the_awake_job_is_caffeinates() -> None:
    content = plistlib.loads(plists(ODD)[AWAKE])
    assert content["ProgramArguments"] == list(ODD.keep_awake)
    assert content["Label"] == "dev.autopilot.awake"
    assert (content["RunAtLoad"], "KeepAlive" in content) == (False, False)  # a log-in is no `on`
    assert AWAKE not in plists(PLAIN)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("RunAtload", True, "RunAtload: not in the table"),
        ("ThrottleInterval", "10", "ThrottleInterval: str instead of int"),
        ("RunAtLoad", 1, "RunAtLoad: int instead of bool"),
        (
            "ProgramArguments",
            ["python"],
            "ProgramArguments: launchd looks a bare name up before it sets PATH",
        ),
        ("ProcessType", "interactive", "ProcessType: none of launchd's"),
        ("Label", "", "Label: missing"),
        ("EnvironmentVariables", {"A": 1}, "ProgramArguments, EnvironmentVariables: hold texts only"),
    ],
)
def test_a_fault_is_found(key: str, value: object, told: str) -> None:
    assert list(faults(plistlib.dumps({**daemon_list(), key: value}))) == [told]


def test_a_broken_list_is_no_list() -> None:
    assert list(faults(b"<plist><dict><key>Label</key>")) == ["no property list"]
