"""A report that cannot be written says so with a way out and leaves nothing; of a full home one is made."""

from __future__ import annotations

import json
from pathlib import Path

from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli, fill
from tests.support.disks import SmallDisk
from tests.support.shop import CONFIG


def test_a_folder_on_a_full_disk_is_named_and_nothing_half_written_stays(
    disk: SmallDisk, tmp_path: Path
) -> None:
    cli = Cli(tmp_path / "home", config=CONFIG)
    disk.fill()
    said = cli.run("report", "--json", cwd=disk.folder)
    assert (said.code, said.error["code"]) == (ExitCode.LATER, "disk-full")
    assert "--output" in said.error["hint"]
    assert [path.name for path in disk.folder.iterdir()] == ["filler"]


def test_a_folder_that_is_read_only_is_named_with_the_way_out(disk: SmallDisk, tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home", config=CONFIG)
    disk.read_only()
    said = cli.run("report", "--json", cwd=disk.folder)
    assert (said.code, said.error["code"]) == (ExitCode.CONFIG, "report-unwritable")
    assert "Read-only file system" in said.error["what"]
    assert "--output" in said.error["hint"]


def test_a_home_that_is_full_is_told_of_elsewhere(disk: SmallDisk, tmp_path: Path) -> None:
    cli = Cli(disk.folder / "home", config=CONFIG)
    fill(cli)
    disk.fill()
    said = cli.run("report", "--json", "--output", str(tmp_path), env={"TMPDIR": str(disk.folder)})
    assert said.code == ExitCode.OK, said
    assert "machine.json" in {file["name"] for file in said.json()["report"]["files"]}
    assert "queue.json" in {file["name"] for file in said.json()["report"]["files"]}


def test_a_home_that_is_read_only_is_told_of_elsewhere(disk: SmallDisk, tmp_path: Path) -> None:
    cli = Cli(disk.folder / "home", config=CONFIG)
    fill(cli)
    disk.read_only()
    said = cli.run("report", "--json", "--output", str(tmp_path), cwd=tmp_path)
    assert said.code == ExitCode.OK, said
    assert "queue.json" in {file["name"] for file in said.json()["report"]["files"]}
    assert json.dumps(said.json())
