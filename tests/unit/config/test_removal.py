"""Folders that are hard to remove: deep, closed, restless, full of links, or changed under our hands."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from autopilot.config import removal
from autopilot.config.removal import begin_removal, remove_tree, sizes, waiting


def _nested(top: Path, depth: int) -> None:
    """A chain of folders, far deeper than a path may be long."""
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deep-folder", dir_fd=here)
        below = os.open("deep-folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.mark.field_report("GIT-025")
def test_thousands_of_nested_folders_need_neither_recursion_nor_open_files(tmp_path: Path) -> None:
    _nested(tmp_path / "tree", 1200)
    assert remove_tree(tmp_path / "tree") >= 1201
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_removed_and_what_it_names_is_not(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "work").write_text("mine")
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "link").symlink_to(precious)
    (tree / "link").symlink_to(precious)
    remove_tree(tree)
    (tmp_path / "alone").symlink_to(precious)
    assert remove_tree(tmp_path / "alone") == 1
    assert (precious / "work").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious"]


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o500, 0o300, 0o100])
def test_a_folder_that_was_closed_to_us_is_opened_first(tmp_path: Path, mode: int) -> None:
    inner = tmp_path / "tree" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    for folder in (inner, inner.parent, tmp_path / "tree"):
        folder.chmod(mode)
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_a_folder_swapped_for_a_link_after_the_look_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o500)
    (tree := tmp_path / "tree").mkdir()
    (tree / "a").mkdir()
    looked = removal._is_folder  # noqa: SLF001 - the moment between look and act

    def swap(folder: int, name: str) -> bool:
        is_folder = looked(folder, name)
        if name == "b":
            os.rmdir("b", dir_fd=folder)
            os.symlink(precious, "b", dir_fd=folder)
        return is_folder

    (tree / "a" / "b").mkdir()
    monkeypatch.setattr(removal, "_is_folder", swap)
    with suppress(NotADirectoryError):
        remove_tree(tree)
    monkeypatch.undo()
    remove_tree(tree)
    assert precious.stat().st_mode & 0o777 == 0o500
    assert not tree.exists()


@pytest.mark.field_report("GIT-025")
def test_a_lock_file_that_comes_and_goes_meanwhile_is_no_failure(tmp_path: Path) -> None:
    over = threading.Event()
    turns = 0

    def flicker(lock: Path) -> None:
        nonlocal turns
        while not over.is_set():
            with suppress(OSError):
                lock.touch()
                lock.unlink()
            turns += 1

    for turn in range(8):
        objects = tmp_path / f"tree-{turn}" / "objects"
        objects.mkdir(parents=True)
        for number in range(50):
            (objects / f"{number:02x}").mkdir()
        over.clear()
        helper = threading.Thread(target=flicker, args=(objects / "maintenance.lock",))
        helper.start()
        try:
            remove_tree(tmp_path / f"tree-{turn}")
        finally:
            over.set()
            helper.join()
    assert turns
    assert list(tmp_path.iterdir()) == []


def test_what_is_gone_already_is_well(tmp_path: Path) -> None:
    assert remove_tree(tmp_path / "nothing") == 0
    assert remove_tree(tmp_path / "nowhere" / "nothing") == 0


def test_what_stays_is_told_and_the_rest_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    for name in ("a/one", "a/two", "stays"):
        (tree / name).write_text("x")
    unlink = os.unlink

    def refuse(name: str, *, dir_fd: int | None = None) -> None:
        if name == "stays":
            raise PermissionError(errno.EPERM, "immutable", name)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(PermissionError, match="immutable"):
        remove_tree(tree)
    assert [path.name for path in tree.iterdir()] == ["stays"]


def test_what_is_set_aside_is_found_again_after_a_crash(tmp_path: Path) -> None:
    (tmp_path / "T-1").mkdir()
    (tmp_path / "T-1" / "file").touch()
    moved = begin_removal(tmp_path / "T-1")
    assert not (tmp_path / "T-1").exists()
    assert waiting(tmp_path) == [moved]
    assert (moved / "file").exists()
    remove_tree(moved)
    assert waiting(tmp_path) == []


def test_a_link_in_place_of_the_folder_for_what_goes_is_refused(tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (tmp_path / removal.ASIDE).symlink_to(elsewhere)
    (tmp_path / "T-1").mkdir()
    with pytest.raises(OSError, match="is a link"):
        begin_removal(tmp_path / "T-1")
    assert (tmp_path / "T-1").is_dir()
    assert waiting(tmp_path) == []


def test_sizes_count_what_is_there_and_follow_no_link(tmp_path: Path) -> None:
    (tmp_path / "tree" / "a").mkdir(parents=True)
    (tmp_path / "tree" / "a" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "tree" / "loop").symlink_to(tmp_path)
    total, entries = sizes(tmp_path / "tree")
    assert entries == 4
    assert total >= 100_000
    assert sizes(tmp_path / "nothing") == (0, 0)
