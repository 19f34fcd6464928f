"""Whatever umask we are started with, nothing of ours is open to another user, and everything is to us."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.cli import Cli
from tests.support.house import House
from tests.support.shop import CONFIG


@contextmanager
def umask(mask: int) -> Iterator[None]:
    """Start what is started inside with this umask."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """What another user could read, write or enter; a link itself has no rights."""
    found = [folder, *folder.rglob("*")]
    return [
        f"{path} {stat.filemode(path.lstat().st_mode)}"
        for path in found
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    ]


@pytest.mark.parametrize("mask", [0, 0o777], ids=["open", "shut"])
def test_a_queue_begun_by_a_command_is_private(tmp_path: Path, mask: int) -> None:
    cli = Cli(tmp_path / "home", config=CONFIG)
    with umask(mask):
        assert cli.run("add", "--repo", "shop", "Mend the login").code == 0
    assert cli.told("list").count("Mend the login") == 1
    assert open_to_others(cli.paths.state) == []
    assert open_to_others(cli.paths.logs) == []


@pytest.mark.parametrize(
    "mask", [pytest.param(0, id="open"), pytest.param(0o777, id="shut", marks=pytest.mark.slow)]
)
def test_a_whole_night_leaves_nothing_that_others_can_see(tmp_path: Path, mask: int) -> None:
    house = House(tmp_path)
    try:
        with umask(mask):
            house.begin()
        house.daemon.wait_for_state(house.add(), "published")
        house.assert_in_order()
        assert open_to_others(house.paths.state) == []
        assert open_to_others(house.paths.logs) == []
    finally:
        house.clean_up()
