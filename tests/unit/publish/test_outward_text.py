"""Text that leaves the machine is harmless, whatever it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.schemas.outbound import clean, clean_line, faults

pytestmark = pytest.mark.covers("G06", "N11")


@pytest.mark.covers("N32")
@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Fixes #12", "Ref: #12"),
        ("fixed #12", "Ref: #12"),
        ("This closes: #3 and more", "This Ref: #3 and more"),
        ("RESOLVES owner/name#7", "Ref: owner/name#7"),
        ("Resolved GH-9", "Ref: GH-9"),
        ("Fixes PROJ-12", "Ref: PROJ-12"),
        ("close https://forge.example/o/r/issues/4", "Ref: https://forge.example/o/r/issues/4"),
        ("Fixes  \n #12", "Ref: #12"),
        ("**Fixes** #12", "**Ref: #12"),
        ("Fixes [#12](https://forge.example)", "Ref: [#12](https://forge.example)"),
        ("Fi\u200bxes #12", "Ref: #12"),
        ("Fix&#101;s &#35;12", "Ref: #12"),
        ("Implements #5, fixes #6", "Ref: #5, Ref: #6"),
    ],
)
def test_a_word_that_closes_an_issue_becomes_a_neutral_reference(said: str, left: str) -> None:
    assert clean(said).text == left


@pytest.mark.parametrize(
    "said",
    [
        "Fix the parser",
        "This fixes UTF-8 decoding and SHA-256 sums",
        "Closes the file after reading 12 lines",
        "prefix #12 stays",
        "See: PROJ-12345",
        "Related: #12",
    ],
)
def test_ordinary_sentences_stay_as_they_are(said: str) -> None:
    assert clean(said).text == said


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("thanks @alice", "thanks @ alice"),
        ("@org/team please", "@ org/team please"),
        ("(@bob)", "(@ bob)"),
        ("&commat;carol", "@ carol"),
        (".@dave", ".@ dave"),
        ("mail to someone@example.org", "mail to someone@example.org"),
    ],
)
def test_no_person_and_no_team_is_mentioned(said: str, left: str) -> None:
    assert clean(said).text == left


@pytest.mark.parametrize(
    "said",
    [
        "ok\n\nCo-authored-by: Claude <noreply@anthropic.com>\n",
        "ok\n\n\U0001f916 Generated with [Claude Code](https://claude.example)\n",
        "ok\nwritten by an AI\n",
        "ok\nCo-Authored-By: GitHub Copilot <x@y.example>",
    ],
)
def test_a_machine_is_not_named_as_the_author(said: str) -> None:
    assert clean(said).text.strip() == "ok"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("see /home/me/code/app.py line 3", "see [local path] line 3"),
        ("in (/Users/me/x)", "in ([local path])"),
        ("file:///tmp/out.log", "[local path]"),
        (r"C:\Users\me\x.txt", "[local path]"),
        ("at /state/worktrees/T-1/src/a.py", "at [local path]"),
        ("https://example.org/home/page", "https://example.org/home/page"),
        ("the route /users/1", "the route /users/1"),
        ("src/tmp/x.py", "src/tmp/x.py"),
    ],
)
def test_no_path_of_this_machine_leaves(said: str, left: str) -> None:
    assert clean(said, roots=("/state",)).text == left


def test_hidden_characters_are_dropped_and_line_ends_are_real() -> None:
    said = "a\u202eb\u2066c\x1b[31m\U000e0041\ufeff\r\nd\re\u2028f\tg"
    assert clean(said).text == "abc[31m\nd\ne\nf\tg"


@pytest.mark.covers("N34")
def test_letters_of_every_script_and_emoji_stay_as_they_are() -> None:
    said = "Grüße, 你好, שלום, مرحبا, 🎉 → ñ"
    assert clean(said).text == said


def test_html_that_would_hide_what_follows_is_shown() -> None:
    assert (
        clean("<!-- autopilot:x --><details>z</details>").text
        == "< !-- autopilot:x -->< details>z< /details>"
    )


def test_what_was_changed_is_told_by_kind_and_number() -> None:
    notes = clean("Fixes #1, fixes #2 @bob").notes
    assert notes == ("keyword that closes an issue: 2", "mention of a person or team: 1")


@given(st.text(alphabet="@#&;:<!-/ fixesclo1aA\u200b\r\n&commat;&#64;&#38;", max_size=60))
def test_cleaned_text_breaks_no_rule_any_more(said: str) -> None:
    assert faults(clean(said).text) == ()


@given(st.text(max_size=200))
def test_cleaning_twice_changes_nothing_more_and_the_result_is_utf_8(said: str) -> None:
    once = clean(said).text
    assert clean(once).text == once
    once.encode("utf-8")


def test_a_line_stays_one_line_and_loses_its_blanks() -> None:
    assert clean_line(" a\n\n b\r\nc ") == "a b c"


def test_a_long_hostile_line_is_cleaned_in_linear_time() -> None:
    assert len(clean("created by " * 20_000 + "fixes fixes @" * 20_000).text) > 100_000
    for marks in ("*", "~", "* ", " :", "[("):
        assert len(clean("fixes" + marks * 50_000 + "x").text) > 50_000
