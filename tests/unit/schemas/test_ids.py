from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autopilot.schemas.errors import TicketError
from autopilot.schemas.ids import (
    branch_name,
    is_protected_branch,
    is_reference,
    ref_name_fault,
    run_id,
    short_id_of,
    slug,
    source_name,
    ticket_id,
)
from tests.support.gitcmd import git_binary, git_environment

NAMES = st.text(
    st.sampled_from("aB9-_./@{}~^:?*[]\\ \t\x7f\u00e9\u2028\U0001f600lock"), min_size=1, max_size=12
)


def git_takes(name: str) -> bool:
    argv = [git_binary(), "check-ref-format", "--branch", name]
    return subprocess.run(argv, env=git_environment(), capture_output=True, check=False).returncode == 0


@given(st.integers(1, 10**9))
def test_a_ticket_number_is_read_back_from_its_name(number: int) -> None:
    name = ticket_id(number)
    assert [short_id_of(text) for text in (name, name.lower(), f" {number} ")] == [number] * 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "T-",
        "T-0",
        "T-01",
        "0",
        "-1",
        "T-1x",
        "X-1",
        "T-1 T-2",
        "T-\u0661",
        "1.0",
        "9" * 5000,
        f"T-{2**63}",
    ],
)
def test_what_names_no_ticket_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(TicketError, match="T-12"):
        short_id_of(text)


def test_a_run_is_named_after_its_ticket_and_attempt() -> None:
    assert run_id("T-3", 2, "0a1b2c3d") == "T-3-a2-0a1b2c3d"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Split bills without losing a cent", "split-bills-without-losing-a-cent"),
        ("Größe & Café", "groe-cafe"),
        ("  ---  ", "work"),
        ("\u65e5\u672c\u8a9e", "work"),
        ("a" * 60, "a" * 40),
        ("a" * 39 + " b", "a" * 39),
        ("fix.lock", "fix-lock"),
        ("$(rm -rf /)", "rm-rf"),
    ],
)
def test_a_title_becomes_plain_lower_case_words(title: str, expected: str) -> None:
    assert slug(title) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10**9), st.text(max_size=80))
def test_every_title_gives_a_branch_that_git_takes(number: int, title: str) -> None:
    name = branch_name(ticket_id(number), title)
    assert ref_name_fault(name) is None
    assert git_takes(name)
    assert name == branch_name(ticket_id(number), title)
    assert not is_protected_branch(name)


@settings(max_examples=150, deadline=None)
@given(NAMES)
def test_a_name_without_a_fault_is_one_that_git_takes(name: str) -> None:
    if ref_name_fault(name) is None:
        assert git_takes(name), name


@pytest.mark.parametrize(
    "name",
    [
        "main",
        "release/1.2",
        "fix/T-12",
        "a@b",
        "\u00fcber/caf\u00e9",
        "a{b}",
        "UPPER",
        "x" * 200,
        "a'b\"c",
        "fix/#1",
    ],
)
def test_an_unusual_name_that_git_takes_is_not_refused(name: str) -> None:
    assert ref_name_fault(name) is None
    assert git_takes(name)


@pytest.mark.parametrize(
    "name",
    [
        "", "-x", "a b", "a\tb", "a\nb", "a\x00b", "a..b", "a~1", "a^", "a:b", "a?b", "a*b", "a[b", "a\\b",
        "@", "a@{b", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "HEAD", "\ud800",
        "x" * 201, "\u00e9" * 101,
    ],
)  # fmt: skip
def test_a_name_that_git_or_a_command_line_would_misread_is_refused_with_a_reason(name: str) -> None:
    assert ref_name_fault(name)


@pytest.mark.parametrize(
    "name", ["main", "MASTER", "develop", "release/1", "Release/x", "hotfix/y", "hotfix/"]
)
def test_a_branch_that_nobody_pushes_to_is_known_in_any_spelling(name: str) -> None:
    assert is_protected_branch(name)


@pytest.mark.parametrize("name", ["mainline", "releases/1", "autopilot/t-1-main", "hot-fix/1", "release"])
def test_a_branch_that_only_looks_protected_is_not(name: str) -> None:
    assert not is_protected_branch(name)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("#12", "shop#12"),
        ("till#12", "till#12"),
        ("o/r#12", "o/r#12"),
        ("g/s/r#12", "g/s/r#12"),
        ("PROJ-7", "PROJ-7"),
        ("https://forge.example/o/r/issues/12", "o/r#12"),
        ("https://forge.example/o/r/issues/12?x=1#note-3", "o/r#12"),
        ("https://forge.example/g/s/r/-/issues/12", "g/s/r#12"),
        ("https://jira.example/browse/PROJ-7", "PROJ-7"),
        ("http://jira.example/jira/browse/PROJ-7?focus=1", "PROJ-7"),
    ],
)
def test_an_issue_has_one_name_however_it_is_written(written: str, name: str) -> None:
    assert is_reference(written)
    assert source_name(written, repo="shop") == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#0",
        "#",
        "#12x",
        "#1 2",
        "# Mend it",
        "proj-7",
        "PROJ-0",
        "Fix #12",
        "#12 Fix",
        "o/r#",
        "https://x/o/r",
    ],
)
def test_what_is_no_reference_is_a_text_and_a_key_of_its_own(text: str) -> None:
    assert not is_reference(text)
    assert source_name(text, repo="shop") == text
