"""Ways out of this machine are off by default, and an address never stands in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.load import load
from autopilot.config.paths import Paths
from autopilot.config.settings import Settings
from autopilot.schemas.errors import ConfigError

HOOK = "[channels.team]\nkind = 'webhook'\ncredential = 'team-hook'\n"
DESK = "[channels.desk]\nkind = 'command'\nargv = ['mail', 'pat']\n"


def loaded(folder: Path, text: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(text)
    return load(Paths(state=folder, config_file=file, logs=folder))


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text)
    return caught.value.what


@pytest.mark.covers("G05", "G07", "G08")
def test_nothing_goes_out_by_default(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "")
    assert (settings.channels, settings.report_channels) == ({}, ())
    assert (settings.report_drafts, settings.report_issue_updates) == (False, False)


def test_a_channel_needs_only_what_its_kind_needs(tmp_path: Path) -> None:
    settings = loaded(tmp_path, f"report_channels = ['team', 'desk']\n{HOOK}{DESK}")
    team, desk = settings.channels["team"], settings.channels["desk"]
    assert (team.kind, team.credential, team.form, team.argv, team.limit_s) == (
        "webhook",
        "team-hook",
        "slack",
        (),
        20,
    )
    assert (desk.kind, desk.argv, desk.credential) == ("command", ("mail", "pat"), None)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"report_channels = ['taem']\n{HOOK}", "report_channels: no channel is called 'taem'; did you mean"),
        ("report_channels = ['team']", "no channel is called 'team'; add a table [channels.team]"),
        ("[channels.team]\nkind = 'webhook'", "channels.team: needs credential"),
        ("[channels.team]\nkind = 'command'", "channels.team: needs argv"),
        (f"{HOOK}argv = ['x']", "channels.team: starts no program"),
        (f"{DESK}format = 'plain'", "channels.desk: reads the bare text"),
        (f"{DESK}format = 'slack'", "channels.desk: reads the bare text"),
        (f"{DESK}credential = 'x'", "channels.desk: is handed no credential"),
        ("[channels.desk]\nkind = 'command'\nargv = ['']", "channels.desk.argv.0: "),
        (f"{HOOK}limit_s = 301", "channels.team.limit_s: "),
        (f"{HOOK}format = 'html'", "channels.team.format: "),
        (f"{HOOK}formt = 'plain'", "channels.team.formt: unknown key; did you mean format?"),
        ("[channels.team]\nkind = 'mail'", "channels.team.kind: "),
    ],
)
def test_what_cannot_work_is_refused_with_its_place(tmp_path: Path, text: str, fault: str) -> None:
    assert fault in refused(tmp_path, text)


@pytest.mark.parametrize(
    "key",
    ["credential = 'https://chat.example/hooks/T0/B0/qzxv7k2m'", "url = 'https://chat.example/qzxv7k2m'"],
)
def test_an_address_in_the_file_is_refused_and_not_repeated(tmp_path: Path, key: str) -> None:
    told = refused(tmp_path, f"[channels.team]\nkind = 'webhook'\n{key}\n")
    assert "channels.team" in told
    assert "qzxv7k2m" not in told


def test_a_credential_in_argv_is_refused_and_not_repeated(tmp_path: Path) -> None:
    token = "ghp" + "_" + "Zk3vQ9" * 6
    told = refused(tmp_path, f"[channels.desk]\nkind = 'command'\nargv = ['curl', '-H', '{token}']\n")
    assert "has a credential in argv" in told
    assert token not in told
