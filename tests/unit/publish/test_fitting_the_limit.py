"""A text of sections fits the forge's limit and keeps what matters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.publish.cut import Section, close_fence, fit, length, open_fence, shorten


@pytest.mark.field_report("PUB-006")
@pytest.mark.parametrize("character", ["x", "é", "🎉", "👩\u200d🔧", "e\u0301"])
@pytest.mark.parametrize("fence", ["", "```\n", "~~~~python\n"])
def test_a_text_of_any_characters_is_cut_below_the_limit_on_a_boundary(character: str, fence: str) -> None:
    log = fence + character * 300_000
    text = fit((Section("Log", log, 5), Section("Verification", "12 passed", 1)), limit=60_000)
    assert length(text) <= 60_000
    text.encode("utf-8")
    assert "12 passed" in text
    assert "Cut here" in text
    assert open_fence(text) is None


@pytest.mark.field_report("PUB-006")
def test_what_comes_after_a_cut_section_is_still_shown() -> None:
    sections = (
        Section("Summary", "s" * 100_000, 3),
        Section("Verification", "v" * 1_000, 1),
        Section("Related", "Ref: T-1", 0),
    )
    text = fit(sections, limit=5_000)
    assert text.index("## Summary") < text.index("## Verification") < text.index("## Related")
    assert "v" * 1_000 in text
    assert text.endswith("Ref: T-1")


def test_a_text_that_fits_is_left_alone() -> None:
    assert fit((Section("A", "one", 1), Section("B", "two", 0))) == "## A\n\none\n\n## B\n\ntwo"


def test_an_open_fence_does_not_swallow_the_next_section() -> None:
    text = fit((Section("A", "```\ncode", 1), Section("B", "two", 0)))
    assert text == "## A\n\n```\ncode\n```\n\n## B\n\ntwo"


@pytest.mark.parametrize(
    ("text", "still_open"),
    [
        ("```\na\n```", None),
        ("````\n```\n", "````"),
        ("~~~\n```\n", "~~~"),
        ("``` not a ` fence", None),
        ("    ```\nindented code", None),
        ("```\n``` x", "```"),
    ],
)
def test_fences_are_read_as_the_specification_says(text: str, still_open: str | None) -> None:
    assert open_fence(text) == still_open


@given(st.text(max_size=400), st.integers(min_value=0, max_value=500))
def test_a_shortened_text_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert length(shorten(text, limit)) <= limit


@given(st.lists(st.sampled_from(["```", "~~~", "````", "a", "", "```x"]), max_size=12))
def test_a_closed_text_has_no_open_fence(lines: list[str]) -> None:
    assert open_fence(close_fence("\n".join(lines))) is None
