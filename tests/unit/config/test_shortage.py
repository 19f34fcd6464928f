"""No room is told by the file system and by what a write of ours is answered, never by words alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.config.gitfault import GitError
from autopilot.config.shortage import Shortage, full, refuse_full, refused, shortage
from autopilot.schemas.errors import ConfigError, ExitCode, TransientError


def answering(number: int) -> Callable[[Path], None]:
    def write(_: Path) -> None:
        raise OSError(number, os.strerror(number))

    return write


def test_where_there_is_room_a_file_is_taken_and_nothing_is_left(tmp_path: Path) -> None:
    assert (shortage((tmp_path,)), refused(tmp_path)) == (None, None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_quota_that_no_figure_shows_is_found_by_writing(tmp_path: Path, number: int) -> None:
    short = refused(tmp_path, answering(number))
    assert short is not None
    assert str(short).startswith(f"{tmp_path} took no file: {os.strerror(number)} (")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
def test_another_trouble_is_not_taken_for_a_full_disk(tmp_path: Path, number: int) -> None:
    assert refused(tmp_path, answering(number)) is None
    assert full(OSError(number, os.strerror(number)), tmp_path) is None


def test_the_error_names_the_folder_the_figures_and_what_came_of_it(tmp_path: Path) -> None:
    error = Shortage(tmp_path, 12, 34).error("the tests were cut")
    assert error.what == f"the disk is full: {tmp_path} has 12 bytes free, less than 34; the tests were cut"
    assert (error.code, error.hint, error.exit_code) == ("disk-full", "free disk space", ExitCode.LATER)


def test_a_write_that_found_no_room_is_named_when_there_is_room_again(tmp_path: Path) -> None:
    told = full(OSError(errno.ENOSPC, "no room"), tmp_path)
    assert told is not None
    assert (told.code, told.what) == ("disk-full", "the disk is full: [Errno 28] no room")


def test_git_without_room_says_nothing_about_a_commit_and_all_else_it_says_counts(
    tmp_path: Path,
) -> None:
    with pytest.raises(TransientError, match="no space in the object store"):
        refuse_full(GitError("git-disk-full", "no space in the object store"), tmp_path)
    for error in (GitError("git-failed", "no such object"), ConfigError("policy-invalid", "no table")):
        refuse_full(error, tmp_path)
