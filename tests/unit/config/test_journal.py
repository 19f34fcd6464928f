import json
import os
from pathlib import Path

import pytest

from autopilot.config.journal import append_line, read_lines
from autopilot.config.room import is_full


def test_what_was_appended_is_read_back_once(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    append_line(journal, {"event": "one", "name": "zwei\nZeilen ü"})
    first = read_lines(journal)
    append_line(journal, {"event": "two"})
    second = read_lines(journal, first.offset)
    assert [entry["event"] for entry in first.entries] == ["one"]
    assert first.entries[0]["name"] == "zwei\nZeilen ü"
    assert [entry["event"] for entry in second.entries] == ["two"]
    assert read_lines(journal, second.offset).entries == ()


def test_a_missing_journal_has_no_lines(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "none.jsonl").entries == ()


@pytest.mark.parametrize("cut", range(1, 15))
def test_a_cut_last_line_is_left_until_it_is_finished(tmp_path: Path, cut: int) -> None:
    journal = tmp_path / "events.jsonl"
    append_line(journal, {"event": "one"})
    rest = json.dumps({"event": "ü"}, ensure_ascii=False).encode() + b"\n"
    with journal.open("ab") as file:
        file.write(rest[:-cut])
    reading = read_lines(journal)
    assert [entry["event"] for entry in reading.entries] == ["one"]
    with journal.open("ab") as file:
        file.write(rest[-cut:])
    assert [entry["event"] for entry in read_lines(journal, reading.offset).entries] == ["ü"]


@pytest.mark.parametrize("line", [b"not json", b"[1]", b'{"a":', b"\xff\xfe", b"[" * 100_000, b'"text"'])
def test_a_damaged_line_is_counted_and_passed_over(tmp_path: Path, line: bytes) -> None:
    journal = tmp_path / "events.jsonl"
    journal.write_bytes(b'{"event":"one"}\n' + line + b'\n{"event":"two"}\n')
    reading = read_lines(journal)
    assert [entry["event"] for entry in reading.entries] == ["one", "two"]
    assert reading.damaged == 1


def test_a_long_journal_is_read_in_pieces(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    for number in range(100):
        append_line(journal, {"n": number})
    seen: list[int] = []
    reading = read_lines(journal, max_bytes=64)
    while reading.entries:
        seen += [entry["n"] for entry in reading.entries]
        reading = read_lines(journal, reading.offset, max_bytes=64)
    assert seen == list(range(100))


def test_a_line_longer_than_a_piece_is_passed_over(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    append_line(journal, {"event": "x" * 1000})
    append_line(journal, {"event": "after"})
    seen: list[str] = []
    damaged, offset = 0, 0
    while offset < journal.stat().st_size:
        reading = read_lines(journal, offset, max_bytes=100)
        seen += [entry["event"] for entry in reading.entries]
        damaged, offset = damaged + reading.damaged, reading.offset
    assert seen == ["after"]
    assert damaged >= 1


def test_a_journal_that_became_shorter_is_read_from_its_start(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    append_line(journal, {"event": "a long first line"})
    offset = read_lines(journal).offset
    journal.write_bytes(b'{"event":"new"}\n')
    assert [entry["event"] for entry in read_lines(journal, offset).entries] == ["new"]


def test_a_line_behind_one_that_a_kill_has_cut_off_is_not_lost_with_it(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    append_line(journal, {"event": "whole"})
    with journal.open("ab") as file:
        file.write(b'{"event":"cut of')
    append_line(journal, {"event": "after"})
    reading = read_lines(journal)
    assert [entry["event"] for entry in reading.entries] == ["whole", "after"]
    assert reading.damaged == 1


def test_a_line_for_a_part_of_which_there_is_room_says_that_the_disk_is_full_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last bytes of a full disk take half a line, and the kernel calls that no error."""
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: real(handle, data[:7]))
        with pytest.raises(OSError, match="only 7 of 9 bytes of a line") as caught:
            append_line(tmp_path / "events", {"n": 10})
    assert is_full(caught.value)
    append_line(tmp_path / "events", {"n": 11})
    assert read_lines(tmp_path / "events").entries == ({"n": 11},)
