"""What is no order: commands, their modes, tickets' numbers, and several issues at once."""

from __future__ import annotations

import pytest

from autopilot.daemon.cli import words
from autopilot.schemas.errors import TicketError


@pytest.mark.covers("B12")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["on"], "autopilot on"),
        (["off"], "autopilot off"),
        ([" Status "], "autopilot status"),
        (["autopilot on"], "autopilot on"),
        (["--now"], "autopilot on --now"),
        (["now"], "autopilot on --now"),
        (["drain"], "autopilot off --drain"),
        (["on", "now"], "autopilot on --now"),
        (["on until 07:00"], "autopilot on --until 07:00"),
        (["off", "drain", "10m"], "autopilot off --drain 10m"),
        (["resume", "T-3"], "autopilot resume T-3"),
        (["T-3"], "autopilot show T-3"),
        (["help"], "autopilot --help"),
    ],
)
def test_a_command_or_a_mode_of_ours_is_no_ticket(typed: list[str], meant: str) -> None:
    with pytest.raises(TicketError) as raised:
        words.check(typed)
    assert raised.value.code == "not-a-ticket"
    assert raised.value.hint.startswith(f"did you mean: {meant}?")


@pytest.mark.covers("B12")
@pytest.mark.parametrize(
    "text",
    [
        "Stop the daemon's log from growing",
        "stop on install",
        "Mend it",
        "status is wrong",
        "12",
        "resume T-3 when the login is mended",
    ],
)
def test_a_quoted_text_that_says_more_than_a_command_is_a_ticket(text: str) -> None:
    words.check([text])


@pytest.mark.covers("B12")
@pytest.mark.parametrize("typed", [["#7", "#8"], ["#7 ABC-8"]])
def test_several_issues_are_refused_and_not_taken_for_a_text(typed: list[str]) -> None:
    with pytest.raises(TicketError) as raised:
        words.check(typed)
    assert raised.value.code == "references-joined"
    assert "autopilot add '#7'" in raised.value.hint
