from __future__ import annotations

import re

import pytest

from autopilot.schemas import errors
from autopilot.schemas.errors import (
    AutopilotError,
    CeilingError,
    ConfigError,
    ExitCode,
    InvariantError,
    RefusedError,
    StaleTransitionError,
    TicketError,
    TransientError,
)
from autopilot.schemas.events import Event


def test_an_error_says_what_happened_its_code_and_how_to_mend_it() -> None:
    error = ConfigError("no-base", "there is no branch develop", hint="name one that exists")
    assert str(error) == "there is no branch develop [no-base] → name one that exists"
    assert (error.code, error.what, error.hint) == (
        "no-base",
        "there is no branch develop",
        "name one that exists",
    )
    assert str(TicketError("empty", "it is empty")) == "it is empty [empty]"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (AutopilotError, ExitCode.FAILED),
        (TransientError, ExitCode.LATER),
        (TicketError, ExitCode.FAILED),
        (ConfigError, ExitCode.CONFIG),
        (RefusedError, ExitCode.REFUSED),
        (InvariantError, ExitCode.BUG),
        (StaleTransitionError, ExitCode.LATER),
    ],
)
def test_each_kind_of_error_ends_a_command_with_the_code_of_who_acts_next(
    kind: type[AutopilotError], code: ExitCode
) -> None:
    assert kind("x", "y").exit_code is code
    assert issubclass(kind, AutopilotError)


def test_exit_codes_are_those_of_the_contract() -> None:
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 70, 75, 78, 130]


def test_an_error_that_passes_by_itself_says_when_and_one_about_a_limit_says_which() -> None:
    assert TransientError("busy", "it is busy", retry_after_s=2.5).retry_after_s == 2.5
    assert TransientError("busy", "it is busy").retry_after_s is None
    ceiling = CeilingError("over", "over the ceiling", limit=5, spent=7)
    assert (ceiling.limit, ceiling.spent) == (5, 7)


def test_every_error_of_ours_is_one_that_the_edges_catch() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) == 8
    assert all(issubclass(kind, AutopilotError) for kind in kinds)


def test_events_are_nouns_with_past_verbs_and_each_is_there_once() -> None:
    names = [event.value for event in Event]
    assert all(re.fullmatch(r"[a-z]+\.[a-z_]+", name) for name in names)
    assert len(set(names)) == len(names)
    assert all(event.name == event.value.replace(".", "_").upper() for event in Event)
