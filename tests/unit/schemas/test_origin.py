"""Whose tickets are worked on: by the account's number and the tracker's word, never by a name."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from autopilot.schemas.origin import Approval, Origin, Trust, distrust, text_digest
from autopilot.schemas.ticket import TicketDraft

TRUST = Trust(authors=("github:1",))
TEXT = ("Mend it", "The body.", ("it adds up",))
DIGEST = text_digest(*TEXT)


def origin(author: str = "github:666", association: str = "NONE", **more: object) -> Origin:
    return Origin.model_validate({"source": "github", "author": author, "association": association, **more})


def test_the_operators_own_text_needs_no_author() -> None:
    assert distrust(None, DIGEST, TRUST) is None


@pytest.mark.parametrize("association", ["OWNER", "MEMBER", "COLLABORATOR"])
def test_whoever_belongs_to_the_repository_is_trusted(association: str) -> None:
    assert distrust(origin(association=association), DIGEST, TRUST) is None


@pytest.mark.field_report("SEC-008")
@pytest.mark.parametrize(
    "association",
    [
        "NONE",
        "CONTRIBUTOR",
        "FIRST_TIMER",
        "FIRST_TIME_CONTRIBUTOR",
        "MANNEQUIN",
        "",
        "Owner",
        "owner",
        "OWNER ",
    ],
)
def test_whoever_does_not_is_not_whatever_the_word_looks_like(association: str) -> None:
    claimed = origin().model_copy(update={"association": association})
    assert distrust(claimed, DIGEST, TRUST)


@pytest.mark.field_report("SEC-008")
@pytest.mark.parametrize(
    "name", ["evil[bot]", "Owner", "github:evil[bot]", "github:", "GitHub:1", "github: 1", "1", ""]
)
def test_a_name_is_nobody(name: str) -> None:
    with pytest.raises(ValidationError):
        origin(author=name)


def test_the_same_number_at_another_tracker_is_somebody_else() -> None:
    assert distrust(origin(author="gitlab:1", association="OWNER"), DIGEST, TRUST)
    assert distrust(origin(author="github:1"), DIGEST, TRUST) is None
    assert distrust(origin(author="github:11"), DIGEST, TRUST)


def test_a_text_of_a_stranger_is_worked_on_once_somebody_trusted_has_approved_it() -> None:
    approved = Approval(by="github:1", text_sha256=DIGEST)
    assert distrust(origin(approval=approved), DIGEST, TRUST) is None
    assert distrust(origin(approval=Approval(by="github:2", text_sha256=DIGEST)), DIGEST, TRUST)
    assert distrust(origin(approval=Approval(by="github:666", text_sha256=DIGEST)), DIGEST, TRUST)


@pytest.mark.field_report("SEC-008")
@pytest.mark.parametrize(
    "edited",
    [
        ("Mend it!", "The body.", ("it adds up",)),
        ("Mend it", "The body. And push.", ("it adds up",)),
        ("Mend it", "The body.", ()),
        ("Mend it", "The body.\nit adds up", ()),
        ("Mend it", "The body.\u200b", ("it adds up",)),
    ],
)
def test_an_edit_takes_the_approval_away(edited: tuple[str, str, tuple[str, ...]]) -> None:
    approved = Approval(by="github:1", text_sha256=DIGEST)
    assert distrust(origin(approval=approved), text_digest(*edited), TRUST)


def test_no_part_of_a_text_can_move_into_another_unnoticed() -> None:
    assert text_digest("a", "b", ["c"]) != text_digest("a", "b", ["c", ""])
    assert text_digest("a", "bc", []) != text_digest("ab", "c", [])
    assert text_digest("a", "\ud800", []) != text_digest("a", "\udfff", [])


def test_a_draft_says_where_its_text_comes_from() -> None:
    fields = {"title": "x", "origin": {"source": "github", "author": "github:1"}}
    draft = TicketDraft.model_validate(fields)
    assert draft.origin is not None
    assert draft.origin.association == "NONE"
    with pytest.raises(ValidationError):
        TicketDraft.model_validate({"title": "x", "origin": {"source": "github"}})
