"""Where the programs that git needs beside itself are found is said before the night."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup import configured, host, who
from autopilot.daemon.checkup.scene import Runner
from autopilot.schemas.checkup import Check


def seen(home: Path, *addresses: str) -> dict[str, Check]:
    tables = [f'[[repo]]\nname = "r{n}"\nurl = "{address}"\n' for n, address in enumerate(addresses)]
    (home / "config.toml").write_text("".join(tables))
    return {check.name: check for check in configured.programs(load(paths_below(home)), who.ours())}


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the only one that is searched."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr("autopilot.config.environ._USUAL_FOLDERS", ())
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.mark.field_report("DMN-010")
@pytest.mark.parametrize("address", ["git@forge.example:o/r.git", "ssh://git@forge.example/o/r.git"])
def test_ssh_is_named_with_its_place_where_a_repository_needs_it(
    tmp_path: Path, programs: Path, address: str
) -> None:
    assert seen(tmp_path, address)["ssh"].blocks
    for name in ("ssh", "git-lfs"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    told = seen(tmp_path, address)
    assert (told["ssh"].blocks, told["ssh"].evidence) == (False, str(programs / "ssh"))
    assert told["git-lfs"].evidence == str(programs / "git-lfs")


@pytest.mark.field_report("DMN-010")
def test_a_program_that_nothing_needs_blocks_no_night(tmp_path: Path) -> None:
    told = seen(tmp_path, "https://forge.example/o/r.git", "file:///srv/a:b.git")
    assert told.keys() == {"git-lfs"}
    assert not told["git-lfs"].blocks
    assert "not on PATH" in told["git-lfs"].evidence


@pytest.mark.field_report("DMN-010")
def test_they_are_looked_for_where_the_service_that_starts_the_runs_will_look(
    tmp_path: Path, programs: Path
) -> None:
    """A terminal's PATH finds what a service's does not."""
    for name in ("git", "ssh", "git-lfs"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    (tmp_path / "config.toml").write_text('[[repo]]\nname = "r"\nurl = "git@forge.example:o/r.git"\n')
    settings = load(paths_below(tmp_path))
    elsewhere = {"PATH": str(tmp_path / "other"), "HOME": str(tmp_path)}
    for path, is_found in ((elsewhere, False), ({"PATH": str(programs)}, True)):
        runner = Runner(who="the service (systemd)", environment=path, is_service=True)
        lines = [host.git_program(runner), *configured.programs(settings, runner)]
        assert [line.name for line in lines] == ["git", "ssh", "git-lfs"]
        assert [line.blocks for line in lines] == [not is_found, not is_found, False]
        named = [str(programs / line.name) == line.evidence for line in lines]
        assert named == [is_found] * 3
        assert is_found or all("not on PATH of the service (systemd)" in line.evidence for line in lines)


def test_an_agents_program_that_is_named_by_its_place_is_said_to_be_missing_or_not_executable(
    tmp_path: Path,
) -> None:
    program = tmp_path / "run it.sh"
    (tmp_path / "config.toml").write_text(f'[agents.mine]\nkind = "command"\nargv = ["{program}"]\n')
    settings = load(paths_below(tmp_path))
    assert configured.agent("mine", settings).evidence == f"{program} is not there"
    program.write_text("#!/bin/sh\n")
    told = configured.agent("mine", settings)
    assert (told.blocks, told.evidence) == (True, f"{program} cannot be executed")
    assert told.cure == f"chmod +x '{program}'"
    program.chmod(0o755)
    assert not configured.agent("mine", settings).blocks
