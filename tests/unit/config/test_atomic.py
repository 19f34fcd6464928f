import errno
import os
import sys
from pathlib import Path

import pytest

from autopilot.config.atomic import make_folder, sync_folders, sync_tree, write_atomically, write_new


def test_a_file_appears_whole_and_private(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    write_atomically(target, b"whole")
    assert target.read_bytes() == b"whole"
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_an_old_file_is_replaced_not_written_into(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    target.write_bytes(b"a long old content")
    old = target.open("rb")
    write_atomically(target, b"new")
    with old:
        assert old.read() == b"a long old content"
    assert target.read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_atomically(target, b"cannot replace a folder that holds something")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_missing_folder_is_an_error_not_a_new_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "nowhere" / "file", b"x")
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each file and folder that is flushed, in order."""
    seen: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        seen.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return seen


linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the name of an open file")


@linux
def test_the_name_of_each_new_folder_is_flushed_in_the_folder_above_it(
    tmp_path: Path, flushed: list[str]
) -> None:
    make_folder(tmp_path / "a" / "b")
    assert flushed == [tmp_path.name, "a"]
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


@linux
def test_a_folder_that_is_there_costs_no_flush_and_a_file_in_its_place_is_an_error(
    tmp_path: Path, flushed: list[str]
) -> None:
    make_folder(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")
    assert flushed == []


@linux
def test_a_tree_is_flushed_from_its_leaves_up_and_no_link_is_followed(
    tmp_path: Path, flushed: list[str]
) -> None:
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner" / "leaf").touch(mode=0o400)
    (tree / "link").symlink_to(tmp_path / "nowhere")
    sync_tree(tree)
    assert flushed == ["leaf", "inner", "tree"]


@linux
def test_of_a_trees_folders_alone_only_the_names_are_flushed(tmp_path: Path, flushed: list[str]) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "leaf").touch()
    sync_folders(tmp_path)
    assert flushed == ["inner", tmp_path.name]


def test_a_tree_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync_tree(tmp_path / "gone")


def test_a_new_file_appears_whole_and_private(tmp_path: Path) -> None:
    target = tmp_path / "report"
    write_new(target, b"whole")
    assert target.read_bytes() == b"whole"
    assert (target.stat().st_mode & 0o777, target.stat().st_nlink) == (0o600, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize("kind", ["file", "link to nowhere", "folder"])
def test_what_has_the_name_of_a_new_file_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "report"
    if kind == "file":
        target.write_bytes(b"old")
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to("nowhere")
    before = target.lstat()
    with pytest.raises(FileExistsError):
        write_new(target, b"new")
    assert os.path.samestat(before, target.lstat())
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_system_without_links_takes_a_new_file_and_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    target = tmp_path / "report"
    if is_there:
        target.write_bytes(b"old")
        with pytest.raises(FileExistsError):
            write_new(target, b"new")
    else:
        write_new(target, b"new")
    assert target.read_bytes() == (b"old" if is_there else b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
