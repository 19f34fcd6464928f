"""What a person types or writes becomes the fields of a ticket, or an error that names the field."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

import pytest

from autopilot.daemon.cli import add, frontmatter, given
from autopilot.schemas.errors import TicketError

BOMB = (
    "[&a0 [x, x]"
    + "".join(f", &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12))
    + "]"
)
"""A few lines that mean ten thousand million words."""


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add.add_arguments(parser)
    return parser.parse_args(words)


def fields(*words: str) -> dict[str, Any]:
    args = parsed(*words)
    return add.fields_of(args, add.read_text(args))


def test_unquoted_words_are_one_title() -> None:
    assert fields("mend", "the", "login") == {"title": "mend the login", "body": ""}


def test_the_first_line_is_the_title_and_the_rest_is_the_body() -> None:
    assert fields("Mend the login\n\nIt fails on Mondays.\n") == {
        "title": "Mend the login",
        "body": "It fails on Mondays.",
    }


def test_a_heading_loses_its_marks() -> None:
    assert fields("## Mend the login")["title"] == "Mend the login"


def test_a_first_line_that_is_too_long_is_cut_and_kept_whole_in_the_body() -> None:
    sentence = "word " * 100
    made = fields(sentence)
    assert len(made["title"]) <= 200
    assert made["title"].endswith("…")
    assert made["body"] == sentence.strip()


def test_front_matter_gives_every_field_and_options_win(tmp_path: Path) -> None:
    ticket = tmp_path / "a ticket.md"
    ticket.write_text(
        "---\ntitle: Mend it\nrepo: shop\nbase: trunk\npriority: high\ndepends_on: [T-1]\n"
        "not_before: 2026-01-31T22:00:00+01:00\nagent: claude\nacceptance: it works\n---\nBody — ünïcode\n"
    )
    made = fields("--file", str(ticket), "--repo", "other")
    assert made == {
        "title": "Mend it",
        "body": "Body — ünïcode",
        "repo": "other",
        "base": "trunk",
        "priority": 1,
        "depends_on": ["T-1"],
        "not_before_ms": 1769893200000,
        "agent": "claude",
        "acceptance": ["it works"],
    }


def test_windows_line_ends_and_a_byte_order_mark_do_not_hide_front_matter(tmp_path: Path) -> None:
    ticket = tmp_path / "t.md"
    ticket.write_bytes(b"\xef\xbb\xbf---\r\ntitle: Mend it\r\n---\r\nBody\r\n")
    assert fields("--file", str(ticket)) == {"title": "Mend it", "body": "Body"}


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Mend é\nnow".encode())))
    assert fields("-") == {"title": "Mend é", "body": "now"}


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("---\ntitle: x\n", "front-matter-open", "never closed"),
        ("---\n- a\n- b\n---\n", "front-matter-invalid", "key: value"),
        ("---\ntitle: [\n---\n", "front-matter-invalid", "YAML"),
        ("---\ntitel: x\n---\n", "ticket-invalid", "titel"),
        ("---\ntitle: x\nnot_before: 2026-01-31T22:00:00\n---\n", "ticket-invalid", "not_before"),
        ("---\ntitle: x\nnot_before: tomorrow\n---\n", "ticket-invalid", "not_before"),
        ("---\ntitle: x\nnot_before: 2026-13-45\n---\n", "ticket-invalid", "not_before"),
        ("---\nacceptance: &a [x, *a]\n---\n", "front-matter-invalid", "references"),
        (f"---\nacceptance: {BOMB}\n---\n", "front-matter-invalid", "references"),
        (f"---\ntitle: {'[' * 3000}\n---\n", "front-matter-invalid", "nested"),
        (f"---\ntitle: {'9' * 6000}\n---\n", "front-matter-invalid", "YAML"),
        ("---\ntitle: !!binary aGVsbG8=\n---\n", "front-matter-invalid", "tag"),
        ("---\ntitle: !!set {a}\n---\n", "front-matter-invalid", "tag"),
        ("---\ntitle: !!int x\n---\n", "front-matter-invalid", "tag"),
        ("---\ntitle: !!python/name:os.system x\n---\n", "front-matter-invalid", "tag"),
        ("---\n? [a, b]\n: c\n---\n", "front-matter-invalid", "YAML"),
    ],
)
def test_a_bad_front_matter_is_refused_by_name(tmp_path: Path, text: str, code: str, named: str) -> None:
    ticket = tmp_path / "t.md"
    ticket.write_text(text)
    with pytest.raises(TicketError) as caught:
        fields("--file", str(ticket))
    assert caught.value.code == code
    assert named in caught.value.what
    assert caught.value.hint


def test_a_date_in_the_front_matter_stays_the_text_it_is(tmp_path: Path) -> None:
    ticket = tmp_path / "t.md"
    ticket.write_text("---\ntitle: 2026-01-31\nnot_before: 2026-01-31T22:00:00Z\n---\n")
    found = fields("--file", str(ticket))
    assert (found["title"], found["not_before_ms"]) == ("2026-01-31", 1_769_896_800_000)


def test_a_misspelt_key_is_told_its_nearest() -> None:
    with pytest.raises(TicketError) as caught:
        frontmatter.split("---\npriorty: high\n---\n")
    assert "priority" in caught.value.hint


def test_a_file_that_is_missing_not_utf8_or_far_too_large_is_refused(tmp_path: Path) -> None:
    latin = tmp_path / "latin.md"
    latin.write_bytes("Mend é".encode("latin-1"))
    huge = tmp_path / "huge.md"
    huge.write_bytes(b"x" * (given.MAX_BYTES + 1))
    for path, code in [
        (tmp_path / "none.md", "file-unreadable"),
        (latin, "file-not-utf8"),
        (huge, "file-too-large"),
    ]:
        with pytest.raises(TicketError) as caught:
            fields("--file", str(path))
        assert caught.value.code == code


def test_no_text_at_all_and_text_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TicketError, match="no-text"):
        fields()
    with pytest.raises(TicketError, match="text-twice"):
        fields("words", "--file", str(tmp_path / "t.md"))


@pytest.mark.parametrize(("word", "number"), [("urgent", 0), (" Low ", 3), ("1", 1)])
def test_a_priority_is_a_word_or_its_number(word: str, number: int) -> None:
    assert fields("mend", "it", "--priority", word)["priority"] == number


@pytest.mark.parametrize("word", ["hihg", "7", "-1", "1.5", ""])
def test_another_priority_is_refused_and_the_known_ones_are_named(word: str) -> None:
    with pytest.raises(TicketError) as caught:
        fields("mend", "it", f"--priority={word}")
    assert caught.value.hint == "give urgent, high, normal, low or 0 to 3"
