"""Doctor and arming say where the night's word goes, and never read an address for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.secrets import variable_for
from autopilot.daemon.checkup import lines, notices
from autopilot.daemon.checkup.probe import BEFORE_A_NIGHT
from autopilot.schemas.checkup import Check, CheckVerdict
from tests.support.couriers import DESK, TEAM
from tests.support.scenes import scene

SECRET = "https://chat.example/hooks/" + "qzxv7k2m"


def line(folder: Path, config: str, **around: str) -> Check:
    return notices.channels(scene(folder, config=config, environment={"PATH": "/usr/bin:/bin", **around}))


@pytest.fixture(autouse=True)
def without_a_key_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    monkeypatch.delenv(variable_for("team-hook"), raising=False)


@pytest.mark.parametrize("config", ["", TEAM + DESK])
def test_none_is_a_note(tmp_path: Path, config: str) -> None:
    told = line(tmp_path, config)
    assert (told.name, told.verdict) == ("channels", CheckVerdict.GO)
    assert told.evidence == "none: the digest stays on this machine"


def test_a_channel_whose_address_is_there_is_named_without_it(tmp_path: Path) -> None:
    told = line(tmp_path, f'report_channels = ["team"]\n{TEAM}', **{variable_for("team-hook"): SECRET})
    assert told.verdict is CheckVerdict.GO
    assert told.evidence == "the digest through team (webhook, slack)"


def test_reports_of_drafts_are_named_too(tmp_path: Path) -> None:
    desk = DESK.replace('"mail"', '"cat"')
    told = line(tmp_path, f'report_channels = ["desk"]\nreport_drafts = true\n{desk}')
    assert told.evidence == "the digest and each draft through desk (command, cat)"


def test_comments_on_issues_are_named_too(tmp_path: Path) -> None:
    told = line(tmp_path, "report_issue_updates = true\n")
    assert told.evidence == "none: the digest stays on this machine; each draft's issue gets a comment"


def test_an_address_that_is_not_there_blocks_with_its_cure(tmp_path: Path) -> None:
    told = line(tmp_path, f'report_channels = ["team"]\n{TEAM}')
    assert told.blocks
    assert told.evidence.startswith("team: is missing")
    assert variable_for("team-hook") in told.cure


def test_a_program_that_is_not_there_blocks(tmp_path: Path) -> None:
    desk = DESK.replace('"mail"', '"no-such-mailer"')
    told = line(tmp_path, f'report_channels = ["desk"]\n{desk}')
    assert told.blocks
    assert told.evidence == "desk: no-such-mailer cannot be started"


def test_a_language_that_no_text_is_in_is_a_warning(tmp_path: Path) -> None:
    desk = DESK.replace('"mail"', '"cat"')
    told = line(tmp_path, f'output_language = "fi"\nreport_channels = ["desk"]\n{desk}')
    assert told.verdict is CheckVerdict.WARNING
    assert "in English: fi is not known" in told.evidence


def test_it_is_asked_before_a_night_and_holds_nothing_during_it(tmp_path: Path) -> None:
    probes = {probe.name: probe for probe in lines.of_configuration(scene(tmp_path))}
    assert (probes["channels"].asked_by, probes["channels"].hold) == (BEFORE_A_NIGHT, "")
