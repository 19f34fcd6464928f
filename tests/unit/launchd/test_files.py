"""The files of a service: written once, rewritten when they would differ, removed, and never another's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.launchd import files
from autopilot.launchd.keeper import find
from autopilot.launchd.systemctl import Systemctl
from autopilot.schemas.errors import RefusedError
from tests.unit.launchd.services import ODD, PLAIN


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return Systemctl(SystemClock())


def acts(systemd: Systemctl) -> list[str]:
    return [file.act for file in files.plan(systemd, systemd.files(ODD))]


@pytest.mark.field_report("DMN-012")
def test_a_changed_program_rewrites_its_file_and_nothing_else(systemd: Systemctl) -> None:
    files.write(files.plan(systemd, systemd.files(ODD)))
    assert acts(systemd) == ["same", "same", "same"]
    upgraded = replace(ODD, program=("/opt/new/bin/python", *ODD.program[1:]), keep_awake=ODD.keep_awake)
    planned = files.plan(systemd, systemd.files(upgraded))
    assert [file.act for file in planned] == ["changed", "changed", "same"]
    files.write(planned)
    assert b":/opt/new/bin/python" in (systemd.folder / systemd.daemon_file).read_bytes()


def test_what_an_earlier_installation_wrote_is_found_though_this_one_would_not(systemd: Systemctl) -> None:
    files.write(files.plan(systemd, systemd.files(ODD)))
    wanted = {systemd.folder / name for name in systemd.files(PLAIN)}
    (left,) = set(files.ours(systemd, systemd.names)) - wanted
    assert left.name == "autopilot-awake.service"
    files.remove(files.ours(systemd, systemd.names))
    assert list(systemd.folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_is_not_ours_is_refused_and_stays(systemd: Systemctl, kind: str) -> None:
    path = systemd.folder / systemd.daemon_file
    path.parent.mkdir(parents=True)
    match kind:
        case "file":
            path.write_text("[Service]\n")
        case "link":
            path.symlink_to("/dev/null")
        case _:
            path.mkdir()
    with pytest.raises(RefusedError, match="did not write it"):
        acts(systemd)
    assert files.ours(systemd, systemd.names) == []


def test_each_system_has_its_keeper() -> None:
    found = [find(SystemClock(), platform=platform).init for platform in ("linux", "darwin")]
    assert found == ["systemd", "launchd"]
