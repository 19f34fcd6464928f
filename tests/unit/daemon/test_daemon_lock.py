"""One daemon per state folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.config import procinfo
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
        assert path.read_text().split()[0] == str(os.getpid())
    with daemon_lock(path):
        pass


OURS = procinfo.look(os.getpid())
HERE = procinfo.boot_id() or "-"
LEFT = {
    "nothing": ("", "it names nobody"),
    "half a line": ("999999998", "process 999999998 is gone"),
    "no number": ("{'pid': 3", "what it says cannot be read: \"{'pid': 3\""),
    "a dead process": (f"999999999 5 {HERE}", "process 999999999 is gone"),
    "a number beyond all processes": ("9" * 30, f"process {'9' * 30} is gone"),
    "a process of another start": (f"{os.getpid()} 5 {HERE}", f"process {os.getpid()} is another one by now"),
    "a process that is no daemon": (
        f"{os.getpid()} {OURS.id.started_ms if OURS else 0} {HERE}",
        f"process {os.getpid()} lives, but does not hold the lock",
    ),
    "one of an older version": (
        f"{os.getpid()}\n",
        f"process {os.getpid()} lives, but does not hold the lock",
    ),
}


@pytest.mark.parametrize(("content", "why"), LEFT.values(), ids=LEFT.keys())
def test_who_signed_the_file_before_is_told_to_be_no_owner(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "daemon.lock"
    path.write_text(content)
    with daemon_lock(path) as lock:
        assert lock.left == why


def test_a_new_file_has_no_earlier_owner(tmp_path: Path) -> None:
    with daemon_lock(tmp_path / "daemon.lock") as lock:
        assert lock.left == ""


@pytest.mark.parametrize("content", [None, "", "another one"])
def test_a_second_daemon_is_refused_though_the_file_was_removed_or_replaced(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "daemon.lock"
    with daemon_lock(path) as lock:
        path.unlink()
        if content is not None:
            path.write_text(content)
        with pytest.raises(RefusedError, match="already runs"), daemon_lock(path):
            pass
        assert lock.heal()
        assert not lock.heal()
        with pytest.raises(RefusedError, match=f"pid {os.getpid()}"), daemon_lock(path):
            pass
    with daemon_lock(path):
        pass


def test_a_lock_that_cannot_be_put_back_says_what_is_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with daemon_lock(path) as lock:
        path.unlink()
        path.mkdir()
        with pytest.raises(ConfigError, match="in place of our file"):
            lock.heal()
        path.rmdir()
        assert lock.heal()


def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.write_text("precious")
    link = tmp_path / "daemon.lock"
    link.symlink_to(target)
    with pytest.raises(ConfigError), daemon_lock(link):
        pass
    assert target.read_text() == "precious"
