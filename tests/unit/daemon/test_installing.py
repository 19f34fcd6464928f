"""What an installation's service is told about keeping awake."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.daemon.installing import service_of
from tests.support.repo_traps import write_script
from tests.support.shop import Stage


@pytest.mark.covers("D01", "D02")
@pytest.mark.parametrize(
    ("config", "options"), [("", ("-s", "-i")), ("[awake]\ndisplay = true\n", ("-s", "-i", "-d"))]
)
def test_on_a_mac_caffeinate_holds_from_on_to_off_and_the_display_too_where_asked_for(
    tmp_path: Path, config: str, options: tuple[str, ...]
) -> None:
    stage = Stage(tmp_path)
    stage.paths.config_file.write_text(stage.paths.config_file.read_text() + config)
    stage.current.refresh()
    service = service_of(stage.paths, stage.settings, platform="darwin")
    assert service.keep_awake == ("/usr/bin/caffeinate", *options)
    stage.store.close()


@pytest.mark.covers("D01", "D02")
@pytest.mark.parametrize("missing", [None, "systemd-inhibit", "sleep"])
def test_on_linux_systemd_inhibit_holds_sleep_and_idleness_and_nothing_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str | None
) -> None:
    stage = Stage(tmp_path)
    stage.store.close()
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in {"systemd-inhibit", "sleep"} - {missing}:
        write_script(programs / name, "#!/bin/sh\n")
    monkeypatch.setattr("autopilot.config.environ._USUAL_FOLDERS", ())
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("HOME", str(tmp_path))
    service = service_of(stage.paths, stage.settings, platform="linux")
    options = ("--what=sleep:idle", "--mode=block", "--who=autopilot", "--why=the night shift is on")
    whole = (str(programs / "systemd-inhibit"), *options, str(programs / "sleep"), "infinity")
    assert service.keep_awake == (() if missing else whole)
