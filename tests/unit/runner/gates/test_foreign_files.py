from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path

import pytest

from autopilot.config.removal import remove_tree
from autopilot.runner.gates import build
from autopilot.runner.gates.files import (
    UnreadableError,
    command_digest,
    digest_of,
    evidence,
    log_end,
    read_plain,
)
from autopilot.runner.stacks import backend_node
from autopilot.runner.stacks.stack import BuildCommand, Command


def test_a_plain_file_is_read_whole_and_fingerprinted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 10)
    assert read_plain(path, max_bytes=10) == b"x" * 10
    assert digest_of(path) == hashlib.sha256(b"x" * 10).hexdigest()


@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize("kind", ["absent", "link", "dangling", "pipe", "folder", "device", "socket"])
def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "report"
    other = tmp_path / "other"
    other.write_text("x", encoding="utf-8")
    if kind == "link":
        path.symlink_to(other)
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path(os.devnull)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    for read in (read_plain, digest_of):
        with pytest.raises(UnreadableError):
            read(path)
    assert log_end(path) == b""
    assert evidence(tmp_path, [path] if kind != "device" else []) == ()


def test_a_file_beyond_the_bound_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * 11)
    with pytest.raises(UnreadableError, match="larger than 10 bytes"):
        read_plain(path, max_bytes=10)


def test_the_end_of_a_long_log_is_what_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * (2 * 1024 * 1024) + b"the end")
    assert log_end(path).endswith(b"the end")
    assert len(log_end(path)) == 1024 * 1024


def test_evidence_is_named_below_the_run_folder(tmp_path: Path) -> None:
    path = tmp_path / "round-1" / "out"
    path.parent.mkdir()
    path.write_bytes(b"x")
    (item,) = evidence(tmp_path, [path, tmp_path / "absent"])
    assert (item.path, item.sha256) == ("round-1/out", hashlib.sha256(b"x").hexdigest())


def test_a_command_is_fingerprinted_word_by_word() -> None:
    assert command_digest(["a", "b c"]) != command_digest(["a b", "c"])
    assert command_digest(["a", "bc"]) != command_digest(["ab", "c"])
    assert command_digest(["\udcff"]) == hashlib.sha256(b"\xff\0").hexdigest()


def test_a_folder_that_was_closed_to_us_is_removed_and_links_out_of_it_are_not_followed(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o500)
    target = tmp_path / "target"
    (target / "inner" / "deep").mkdir(parents=True)
    (target / "inner" / "deep" / "file").write_text("x", encoding="utf-8")
    (target / "out").symlink_to(kept)
    (target / "inner" / "deep").chmod(0)
    (target / "inner").chmod(0)
    remove_tree(target)
    assert not target.exists()
    assert kept.stat().st_mode & 0o777 == 0o500
    remove_tree(target)


def test_a_link_in_place_of_a_folder_is_removed_and_not_what_it_names(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    link = tmp_path / "link"
    link.symlink_to(kept)
    remove_tree(link)
    assert kept.is_dir()
    assert not link.is_symlink()


def test_a_test_may_be_called_what_no_file_can_be(tmp_path: Path) -> None:
    """A test that passed and whose long name ends like that of a script broke the run."""
    is_file = backend_node._FileNames(tmp_path)  # noqa: SLF001 - what the report is read with
    (tmp_path / "a.test.js").write_text("")
    assert is_file("a.test.js")
    assert not is_file("reads " + "every one of them and " * 20 + "index.js")


def test_a_pattern_of_a_script_that_cannot_be_looked_for_is_left_to_its_program(tmp_path: Path) -> None:
    (tmp_path / "odd").symlink_to("0" * 300)
    assert backend_node._matches("*/a.test.js", tmp_path) == []  # noqa: SLF001 - as above


def test_the_report_of_our_own_check_may_be_nested_without_end(tmp_path: Path) -> None:
    (tmp_path / "compile.json").write_text("[" * 100_000)
    plan = BuildCommand(command=Command(("true",)), report=tmp_path / "compile.json", faults=json.loads)
    assert "not the report" in str(build._faults(plan))  # noqa: SLF001 - what a hostile interpreter writes
