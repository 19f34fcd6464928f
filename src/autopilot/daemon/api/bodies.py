"""The JSON bodies that calls carry. Each refusal names the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from autopilot.daemon.api.call import CallError
from autopilot.schemas.checkup import Check  # noqa: TC001 - pydantic reads annotations at run time
from autopilot.schemas.records import EpochMs, Input, faults_of
from autopilot.schemas.units import MAX_DURATION_S

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

Who = Annotated[str, Field(min_length=1, max_length=64, description="who says it, for the history")]
OPERATOR = "operator"
MAX_LISTED = 1_000_000


class ActBody(Input):
    """An act that needs nothing but its ticket."""

    by: Who = OPERATOR


class AnswerBody(ActBody):
    """Answers to a ticket's open questions, in their order."""

    answers: Annotated[tuple[str, ...], Field(min_length=1)]


class SwitchBody(ActBody):
    """On, with its limits; or off, with what becomes of running runs."""

    on: bool
    until_ms: EpochMs | None = None
    ignore_window: bool = False
    mode: Literal["finish", "drain", "now"] = "finish"
    drain_s: Annotated[float, Field(ge=0, le=MAX_DURATION_S)] | None = None
    forced: tuple[Check, ...] = ()


class BreakerBody(ActBody):
    """Which breaker to close."""

    scope: Annotated[str, Field(min_length=1, max_length=200)]


class ListQuery(Input):
    """Which tickets to list; the states are separated by commas."""

    state: str = ""
    repo: str | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_LISTED)] | None = None


B = TypeVar("B", bound=Input)


def read_body(kind: type[B], fields: Mapping[str, Any]) -> B:
    """Read a body or a query.

    Raises:
        CallError: a field is missing, unknown or wrong.
    """
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as exc:
        raise CallError(400, "bad-field", "; ".join(faults_of(exc, whole="body"))) from exc
