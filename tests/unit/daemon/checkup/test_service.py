"""The lines about the installed service: silent without one, and NO-GO where an agent could not sign in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from autopilot.config import handed
from autopilot.config.load import load
from autopilot.config.paths import Paths, paths_below
from autopilot.config.settings import Settings
from autopilot.daemon import installing
from autopilot.daemon.checkup import versions
from autopilot.daemon.checkup.service import service
from autopilot.launchd import keeper, systemd_units
from autopilot.launchd.keeper import Standing
from autopilot.launchd.systemctl import Systemctl
from autopilot.schemas.checkup import Check, CheckVerdict
from tests.support.clock import FakeClock
from tests.support.scenes import scene

CONFIG = """
default_agent = "claude"
[[repo]]
name = "shop"
url = "https://forge.example/o/shop.git"
"""


class Manager(Systemctl):
    """A user manager that answers, and knows nothing but what a test says."""

    known: frozenset[str] = frozenset()
    away = ""
    lingers = True

    def refusal(self) -> str:
        return self.away

    def standing(self) -> Standing:
        return Standing("active (running)", is_enabled=True)

    def knows(self, variable: str) -> bool:
        return variable in self.known

    def is_lingering(self) -> bool:
        return self.lingers


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Manager:
    found = Manager(FakeClock())
    monkeypatch.setattr(keeper, "find", lambda clock: found)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("AUTOPILOT_HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "only in this terminal")
    install(found, tmp_path)
    return found


def looked_at_units(home: Path) -> list[Check]:
    return list(versions.units(scene(home, CONFIG)))


def test_unit_files_that_install_would_write_otherwise_are_named_with_the_command(
    tmp_path: Path, manager: Manager
) -> None:
    (line,) = looked_at_units(tmp_path)
    assert (line.name, line.verdict, line.cure) == ("units", "warning", "autopilot install")
    assert manager.daemon_file in line.evidence
    wanted = installing.service_of(paths_below(tmp_path), load(paths_below(tmp_path)))
    for name, content in manager.files(wanted).items():
        (manager.folder / name).write_bytes(content)
    (line,) = looked_at_units(tmp_path)
    assert line.verdict == "go", line


def test_without_a_service_there_is_nothing_to_say_of_its_files(tmp_path: Path, manager: Manager) -> None:
    (manager.folder / manager.daemon_file).unlink()
    assert looked_at_units(tmp_path) == []


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_service_of_another_installation_is_named_with_who_is_to_mend_it(
    tmp_path: Path, manager: Manager, *, is_ours: bool
) -> None:
    program = sys.executable if is_ours else "/opt/older/bin/python3"
    file = manager.folder / manager.daemon_file
    file.write_text(f'{file.read_text()}ExecStart=:"{program}" "-P"\n')
    found = [line for line in versions.versions(paths_below(tmp_path), FakeClock()) if "program" in line.name]
    if is_ours:
        assert found == []
        return
    (line,) = found
    assert (line.name, line.verdict) == ("service program", CheckVerdict.WARNING)
    assert sys.executable in line.evidence
    assert line.cure == "autopilot install, by the installation that is to have it"


def install(manager: Manager, home: Path) -> None:
    manager.folder.mkdir(parents=True, exist_ok=True)
    unit = f'{systemd_units.HEAD}\nEnvironment="AUTOPILOT_HOME={home}"\n'
    (manager.folder / manager.daemon_file).write_text(unit)


def looked(home: Path) -> list[Check]:
    paths: Paths = paths_below(home)
    paths.config_file.write_text(CONFIG)
    settings: Settings = load(paths)
    return list(service(settings, paths, FakeClock()))


def test_without_a_service_what_comes_of_that_is_said(manager: Manager, tmp_path: Path) -> None:
    (manager.folder / manager.daemon_file).unlink()
    (line,) = looked(tmp_path)
    assert (line.verdict, line.cure) == (CheckVerdict.WARNING, "autopilot install")
    assert "after a reboot" in line.evidence


@pytest.mark.field_report("DMN-019")
def test_a_service_that_ends_with_the_last_log_out_is_named_with_the_command(
    manager: Manager, tmp_path: Path
) -> None:
    manager.lingers = False
    line = looked(tmp_path)[1]
    assert (line.name, line.verdict) == ("linger", CheckVerdict.WARNING)
    assert line.cure == "autopilot install --linger"


def test_an_agent_that_only_the_terminal_can_sign_in_is_no_go_with_the_command(
    manager: Manager, tmp_path: Path
) -> None:
    state, agent = looked(tmp_path)
    assert (state.verdict, agent.verdict) == (CheckVerdict.GO, CheckVerdict.NO_GO)
    assert agent.cure == "autopilot install --pass ANTHROPIC_API_KEY"
    assert "only in this terminal" not in repr(agent)


def test_what_was_handed_over_or_the_manager_knows_is_go(manager: Manager, tmp_path: Path) -> None:
    manager.known = frozenset({"CLAUDE_CODE_OAUTH_TOKEN"})
    assert [line.verdict for line in looked(tmp_path)] == [CheckVerdict.GO]
    manager.known = frozenset()
    handed.write(handed.file_beside(paths_below(tmp_path).config_file), {"ANTHROPIC_API_KEY": "x"})
    assert [line.verdict for line in looked(tmp_path)] == [CheckVerdict.GO]


def test_a_manager_that_is_away_and_another_folders_service_are_warnings(
    manager: Manager, tmp_path: Path
) -> None:
    manager.away = "the user manager of systemd cannot be reached"
    assert [line.verdict for line in looked(tmp_path)] == [CheckVerdict.WARNING]
    install(manager, tmp_path / "another")
    (line,) = looked(tmp_path)
    assert "another folder" in line.evidence
