"""Drafts are counted by ticket."""

from __future__ import annotations

import pytest

from autopilot.schemas.ids import branch_name
from tests.support.in_order import ticket_of


@pytest.mark.parametrize("title", ["Mend it", "Another title", "t-9-x"])
def test_two_branches_of_one_ticket_are_of_one_ticket(title: str) -> None:
    assert ticket_of(branch_name("T-3", title)) == "T-3"
    assert ticket_of(branch_name("T-31", title)) == "T-31"


@pytest.mark.parametrize("branch", ["main", "t-3-mend", "autopilot/other", "person/t-3-mend"])
def test_a_branch_that_is_not_ours_is_of_nobody_else(branch: str) -> None:
    assert ticket_of(branch) == branch
