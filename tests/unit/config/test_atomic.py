from pathlib import Path

import pytest

from autopilot.config.atomic import write_atomically


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
