"""The lines about the installed service: silent without one, and NO-GO where an agent could not sign in."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config import handed
from autopilot.config.load import load
from autopilot.config.paths import Paths, paths_below
from autopilot.config.settings import Settings
from autopilot.daemon.checkup.check import Check, Finding
from autopilot.daemon.checkup.service import service
from autopilot.launchd import keeper, systemd_units
from autopilot.launchd.keeper import Standing
from autopilot.launchd.systemctl import Systemctl
from tests.support.clock import FakeClock

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

    def refusal(self) -> str:
        return self.away

    def standing(self) -> Standing:
        return Standing("active (running)", is_enabled=True)

    def knows(self, variable: str) -> bool:
        return variable in self.known


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Manager:
    found = Manager(FakeClock())
    monkeypatch.setattr(keeper, "find", lambda clock: found)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("AUTOPILOT_HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "only in this terminal")
    install(found, tmp_path)
    return found


def install(manager: Manager, home: Path) -> None:
    manager.folder.mkdir(parents=True, exist_ok=True)
    unit = f'{systemd_units.HEAD}\nEnvironment="AUTOPILOT_HOME={home}"\n'
    (manager.folder / manager.daemon_file).write_text(unit)


def looked(home: Path) -> list[Check]:
    paths: Paths = paths_below(home)
    paths.config_file.write_text(CONFIG)
    settings: Settings = load(paths)
    return list(service(settings, paths, FakeClock()))


def test_without_a_service_there_is_nothing_to_say(manager: Manager, tmp_path: Path) -> None:
    (manager.folder / manager.daemon_file).unlink()
    assert looked(tmp_path) == []


def test_an_agent_that_only_the_terminal_can_sign_in_is_no_go_with_the_command(
    manager: Manager, tmp_path: Path
) -> None:
    state, agent = looked(tmp_path)
    assert (state.finding, agent.finding) == (Finding.OK, Finding.BLOCKED)
    assert agent.cure == "autopilot install --pass ANTHROPIC_API_KEY"
    assert "only in this terminal" not in repr(agent)


def test_what_was_handed_over_or_the_manager_knows_is_go(manager: Manager, tmp_path: Path) -> None:
    manager.known = frozenset({"CLAUDE_CODE_OAUTH_TOKEN"})
    assert [line.finding for line in looked(tmp_path)] == [Finding.OK]
    manager.known = frozenset()
    handed.write(handed.file_beside(paths_below(tmp_path).config_file), {"ANTHROPIC_API_KEY": "x"})
    assert [line.finding for line in looked(tmp_path)] == [Finding.OK]


def test_a_manager_that_is_away_and_another_folders_service_are_warnings(
    manager: Manager, tmp_path: Path
) -> None:
    manager.away = "the user manager of systemd cannot be reached"
    assert [line.finding for line in looked(tmp_path)] == [Finding.WARNING]
    install(manager, tmp_path / "another")
    (line,) = looked(tmp_path)
    assert "another folder" in line.evidence
