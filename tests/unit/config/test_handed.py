"""What a service is handed: kept for one user, read by nobody else, and refused when it lies open."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from autopilot.config import handed
from autopilot.schemas.errors import ConfigError


def test_what_was_handed_over_stands_beside_what_is_set_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = handed.file_beside(tmp_path / "new" / "config.toml")
    handed.write(file, {"HANDED_A": "a", "HANDED_B": "line\nnext 'x'"})
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("HANDED_A", "set before")
    monkeypatch.delenv("HANDED_B", raising=False)
    handed.take_in(file)
    assert (os.environ["HANDED_A"], os.environ["HANDED_B"]) == ("set before", "line\nnext 'x'")
    monkeypatch.setenv("HANDED_B", "")  # so that it is taken away after the test


@pytest.mark.field_report("DMN-003")
def test_taken_in_once_more_it_is_as_the_file_says_by_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = handed.file_beside(tmp_path / "config.toml")
    for name in ("HANDED_A", "HANDED_B", "HANDED_C", "AUTOPILOT_HANDED"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("HANDED_A", "set before")
    handed.write(file, {"HANDED_A": "a", "HANDED_B": "old", "HANDED_C": "c"})
    handed.take_in(file)
    handed.write(file, {"HANDED_A": "a", "HANDED_B": "new"})
    for _ in range(2):
        handed.take_in(file)
        assert (os.environ["HANDED_A"], os.environ["HANDED_B"]) == ("set before", "new")
        assert "HANDED_C" not in os.environ
    file.unlink()
    handed.take_in(file)
    assert "HANDED_B" not in os.environ
    assert os.environ["HANDED_A"] == "set before"


def test_nothing_handed_over_is_nothing(tmp_path: Path) -> None:
    assert handed.read(tmp_path / "absent") == {}


@pytest.mark.parametrize(
    "content", ["{", "[]", "[" * 100_000, '{"A": 1}', '"A"', '{"A=B": "c"}', '{"": "c"}', '{"A": "\\u0000"}']
)
def test_what_we_did_not_write_is_refused_with_the_cure(tmp_path: Path, content: str) -> None:
    file = tmp_path / "file"
    handed.write(file, {})
    file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        handed.read(file)
    assert caught.value.code == "handed-unusable"
    assert "remove it" in caught.value.hint


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    handed.write(file, {"A": "secret"})
    file.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        handed.read(file)
    assert "secret" not in str(caught.value)


def test_a_folder_that_is_closed_to_us_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ConfigError, match="Permission denied"):
        handed.read(tmp_path / "file")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    handed.write(file, {"A": "a" * 300_000})
    with pytest.raises(ConfigError, match="larger"):
        handed.read(file)


def test_a_link_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    handed.write(file, {"A": "a"})
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(ConfigError):
        handed.read(tmp_path / "link")


def test_what_mends_a_file_that_lies_open_can_be_typed_wherever_it_lies(tmp_path: Path) -> None:
    file = handed.file_beside(tmp_path / "my settings" / "config.toml")
    handed.write(file, {"HANDED_A": "a"})
    file.chmod(0o644)
    with pytest.raises(ConfigError) as refused:
        handed.read(file)
    command, _, _ = refused.value.hint.partition(", or")
    assert shlex.split(command) == ["chmod", "600", str(file)]
