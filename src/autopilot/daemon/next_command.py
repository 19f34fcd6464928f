"""The command with which a person moves a ticket on. Pure; stdlib only, for the command line uses it too."""

from __future__ import annotations

from autopilot.schemas.machine import State, WaitingFor

_ASKED = frozenset({WaitingFor.QUESTIONS, WaitingFor.MATURITY})


def next_command(ticket_id: str, state: str, waiting_for: str | None) -> str | None:
    """Name the command; None where a person need not act."""
    match State(state):
        case State.PARKED if waiting_for in _ASKED:
            return f'autopilot answer {ticket_id} "…"'
        case State.PARKED:
            return f"autopilot resume {ticket_id}"
        case State.FAILED | State.CANCELLED:
            return f"autopilot retry {ticket_id}"
        case State.PUBLISHED:
            return f"autopilot review {ticket_id}"
        case _:
            return None


def close_hint(ticket_id: str) -> str:
    """Say what to do about a draft that nobody wants any more."""
    return (
        f"close it at the forge, which is noticed by itself, or say so: autopilot review {ticket_id} --closed"
    )


def price_hint(model: str) -> str:
    """Say what to write into the configuration so that a model's tokens can be priced."""
    if not model:
        return "an agent told tokens and no model: set model in its [agents.<name>] table"
    return f'no price is known for its tokens: add [prices."{model}"], see docs/configuration.md'
