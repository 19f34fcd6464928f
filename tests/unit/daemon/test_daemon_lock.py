"""One daemon per state folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.daemon.lock import daemon_lock
from autopilot.schemas.errors import ConfigError, ExitCode, RefusedError


def test_a_second_daemon_is_refused_and_told_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with daemon_lock(path), pytest.raises(RefusedError) as caught, daemon_lock(path):
        pass
    assert str(os.getpid()) in caught.value.what
    assert caught.value.exit_code is ExitCode.REFUSED


@pytest.mark.parametrize("content", ["", "1\n", "garbage\x00", "99999999999999999999\n"])
def test_whatever_an_earlier_daemon_left_in_the_file_does_not_block_the_next(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "daemon.lock"
    path.write_text(content)
    with daemon_lock(path):
        assert path.read_text() == f"{os.getpid()}\n"
    with daemon_lock(path):
        pass


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.write_text("precious")
    link = tmp_path / "daemon.lock"
    link.symlink_to(target)
    with pytest.raises(ConfigError), daemon_lock(link):
        pass
    assert target.read_text() == "precious"
