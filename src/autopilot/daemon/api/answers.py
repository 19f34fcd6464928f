"""What each path of the control socket means: one line per path, one function of the desk behind it.

Must not decide anything: the desk and the store do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.daemon import desk as counter
from autopilot.daemon import view
from autopilot.daemon.api.bodies import (
    OPERATOR,
    ActBody,
    AnswerBody,
    BreakerBody,
    ListQuery,
    SwitchBody,
    read_body,
)
from autopilot.daemon.api.call import CallError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.daemon.api.call import Call
    from autopilot.daemon.desk import Desk

_TICKET = re.compile(r"/v1/tickets/([^/]+)(?:/([a-z]+))?")


def read(desk: Desk, call: Call, *, about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer a call that changes nothing; a value of the answer that is long is an iterator.

    Args:
        desk: whose functions answer.
        call: the request.
        about: what only the living daemon knows.

    Raises:
        CallError: no such path, or a field has the wrong type.
        AutopilotError: what the desk refused.
    """
    match call.path:
        case "/v1/status":
            return {**view.status(desk), "daemon": dict(about)}
        case "/v1/tickets":
            query = read_body(ListQuery, call.query)
            states = [state for state in query.state.split(",") if state]
            return {"tickets": counter.listing(desk, states=states, repo=query.repo, limit=query.limit)}
    match _ticket_of(call):
        case (ticket, None):
            return counter.show(desk, ticket)
        case (ticket, "why"):
            return view.why(desk, ticket)
        case _:
            raise _unknown(call)


def write(desk: Desk, call: Call) -> Mapping[str, Any]:
    """Do what a call asks for, and answer it. Raises as `read` does."""
    match call.path:
        case "/v1/nudge":
            return {}
        case "/v1/tickets":
            fields = dict(call.body)
            by = read_body(ActBody, {"by": fields.pop("by", OPERATOR)}).by
            return counter.add(desk, fields, by=by)
        case "/v1/switch":
            return _switch(desk, read_body(SwitchBody, call.body))
        case "/v1/breakers":
            body = read_body(BreakerBody, call.body)
            return counter.reset_breaker(desk, body.scope, by=body.by)
    ticket, act = _ticket_of(call)
    if act == "answer":
        answers = read_body(AnswerBody, call.body)
        return counter.answer(desk, ticket, answers.answers, by=answers.by)
    acts = {"cancel": counter.cancel, "retry": counter.retry, "resume": counter.resume}
    if act not in acts:
        raise _unknown(call)
    return acts[act](desk, ticket, by=read_body(ActBody, call.body).by)


def _switch(desk: Desk, body: SwitchBody) -> Mapping[str, Any]:
    if body.on:
        return counter.turn_on(
            desk, until_ms=body.until_ms, ignore_window=body.ignore_window, forced=body.forced, by=body.by
        )
    return counter.turn_off(desk, mode=body.mode, drain_s=body.drain_s, by=body.by)


def _ticket_of(call: Call) -> tuple[str, str | None]:
    match = _TICKET.fullmatch(call.path)
    if match is None:
        raise _unknown(call)
    return match[1], match[2]


def _unknown(call: Call) -> CallError:
    return CallError(404, "path-unknown", f"there is no {call.method} {call.path}")
