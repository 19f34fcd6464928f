from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from autopilot.schemas.ticket import MAX_BODY_CHARS, MAX_TITLE_CHARS, TicketDraft

REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("title", {"title": ""}),
    ("title", {"title": "   "}),
    ("title", {"title": "two\nlines"}),
    ("title", {"title": "a\x00b"}),
    ("title", {"title": "a\x1bb"}),
    ("title", {"title": "a\x85b"}),
    ("title", {"title": "a\u2028b"}),
    ("title", {"title": "x" * (MAX_TITLE_CHARS + 1)}),
    ("title", {"title": None}),
    ("title", {"title": "half \ud800"}),
    ("body", {"body": "a\x00b"}),
    ("body", {"body": "x" * (MAX_BODY_CHARS + 1)}),
    ("body", {"body": "half \udfff"}),
    ("base", {"base": "-x"}),
    ("base", {"base": "a b"}),
    ("base", {"base": ""}),
    ("base", {"base": "HEAD"}),
    ("priority", {"priority": 4}),
    ("priority", {"priority": -1}),
    ("priority", {"priority": "high"}),
    ("not_before_ms", {"not_before_ms": -1}),
    ("depends_on", {"depends_on": "T-1"}),
    ("not_before_ms", {"not_before_ms": 2**63}),
    ("acceptance", {"acceptance": [1]}),
    ("acceptance", {"acceptance": ["whole", "a\x00b"]}),
    ("source_key", {"source_key": "a\x00b"}),
    ("labels", {"labels": ["x"]}),
]


@pytest.mark.parametrize(("field", "values"), REFUSED)
def test_a_draft_that_cannot_be_worked_with_is_refused_by_its_field(
    field: str, values: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError) as caught:
        TicketDraft.model_validate({"title": "Split bills", **values})
    assert [error["loc"][0] for error in caught.value.errors()] == [field]


@pytest.mark.parametrize(
    "title",
    [
        "-x",
        "--help",
        "a'b\"c",
        "$(rm -rf /)",
        "\u65e5\u672c\u8a9e \U0001f600",
        "x" * MAX_TITLE_CHARS,
        "@{u}",
        "a\\nb",
    ],
)
def test_an_unusual_title_is_kept_as_it_is(title: str) -> None:
    assert TicketDraft(title=title).title == title


def test_blanks_around_a_title_are_dropped_and_the_lines_of_a_body_kept() -> None:
    draft = TicketDraft(title="  Split bills\t", body="One.\n\n\tTwo.\r\nThree.")
    assert draft.title == "Split bills"
    assert draft.body == "One.\n\n\tTwo.\r\nThree."


def test_a_draft_is_of_ordinary_priority_and_ready_at_once() -> None:
    draft = TicketDraft(title="Split bills")
    assert (draft.priority, draft.not_before_ms, draft.depends_on, draft.base) == (2, 0, (), None)


def test_a_number_in_quotes_is_a_number_when_a_person_wrote_it() -> None:
    assert TicketDraft.model_validate({"title": "x", "priority": "0"}).priority == 0


def test_a_draft_cannot_be_changed_afterwards() -> None:
    draft = TicketDraft(title="Split bills")
    with pytest.raises(ValidationError):
        draft.title = "Other"  # type: ignore[misc]
