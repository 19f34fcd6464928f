"""The order: what a person asks for, and the row that carries it through the night."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import Field, field_validator

from autopilot.schemas.ids import ref_name_fault
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.origin import Origin
from autopilot.schemas.records import EpochMs, Input, MicroUsd, Record

PRIORITY_URGENT = 0
PRIORITY_DEFAULT = 2
PRIORITY_LOWEST = 3
MAX_TITLE_CHARS = 200
MAX_BODY_CHARS = 100_000


class TicketDraft(Input):
    """A ticket before it has a number. Every refusal names the field."""

    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS)]
    body: Annotated[str, Field(max_length=MAX_BODY_CHARS)] = ""
    repo: str | None = Field(default=None, description="name of a configured repository; None = the only one")
    base: str | None = Field(default=None, description="branch to start from; None = the repository's base")
    priority: Annotated[int, Field(ge=PRIORITY_URGENT, le=PRIORITY_LOWEST)] = PRIORITY_DEFAULT
    depends_on: tuple[str, ...] = ()
    not_before_ms: EpochMs = 0
    agent: str | None = None
    acceptance: tuple[str, ...] = ()
    source_key: str | None = Field(default=None, description="the same key twice is one ticket, e.g. o/r#12")

    origin: Origin | None = Field(default=None, description="None: it is the operator's own text")

    @field_validator("title")
    @classmethod
    def _title_is_one_line(cls, title: str) -> str:
        if any(unicodedata.category(char) in {"Cc", "Zl", "Zp"} for char in title):
            msg = "the title must be one line without control characters; put the rest into the body"
            raise ValueError(msg)
        return title

    @field_validator("body")
    @classmethod
    def _body_is_text(cls, body: str) -> str:
        if "\x00" in body:
            msg = "the body holds a NUL character"
            raise ValueError(msg)
        return body

    @field_validator("acceptance", "source_key")
    @classmethod
    def _holds_no_nul(cls, value: tuple[str, ...] | str | None) -> tuple[str, ...] | str | None:
        if any("\x00" in part for part in value or ()):
            msg = "holds a NUL character"
            raise ValueError(msg)
        return value

    @field_validator("source_key")
    @classmethod
    def _source_key_says_something(cls, source_key: str | None) -> str | None:
        if source_key is not None and not source_key.strip():
            msg = "is empty: every ticket with it would be taken for one and the same"
            raise ValueError(msg)
        return source_key

    @field_validator("base")
    @classmethod
    def _base_is_a_branch(cls, base: str | None) -> str | None:
        if base is not None and (fault := ref_name_fault(base)):
            msg = f"the base branch {base!r} {fault}"
            raise ValueError(msg)
        return base


class Exchange(Record):
    """One question of an agent and the operator's answer, once there is one."""

    question: str
    asked_ms: EpochMs
    answer: str | None = None
    answered_ms: EpochMs | None = None


class Ticket(Record):
    """The row as it was seen. `claim_token` and `state` guard every later write."""

    id: str
    short_id: int
    state: State
    title: str
    body: str
    acceptance: tuple[str, ...] = ()
    repo: str
    base: str | None
    priority: int
    depends_on: tuple[str, ...] = ()
    agent: str | None
    source_key: str | None
    branch: str
    created_ms: EpochMs
    updated_ms: EpochMs
    not_before_ms: EpochMs = 0
    attempts: int = Field(default=0, ge=0, description="attempts used; only a person resets them")
    releases: int = Field(default=0, ge=0, description="runs given back without using an attempt")
    sessions: int = Field(default=0, ge=0, description="runs ever started; never reset")
    losses: int = Field(default=0, ge=0, description="runners that died unexpectedly since a person acted")
    ask_rounds: int = Field(default=0, ge=0)
    cancel_requested: bool = False
    waiting_for: WaitingFor | None = None
    reason: str = Field(default="", description="why it is where it is, for a person")
    hint: str = Field(default="", description="what would move it on")
    claim_token: str | None = None
    fence: int = Field(default=0, ge=0, description="rises with every claim")
    run_id: str | None = Field(default=None, description="the latest attempt's run")
    head: str | None = Field(default=None, description="the verified commit, once there is one")
    pr_url: str | None = None
    spent_micro_usd: MicroUsd = 0
    tokens: int = Field(default=0, ge=0, description="tokens of all its runs; never reset")


class Hold(Record):
    """A named reason why something does not run, since when, and what clears it."""

    name: str = Field(description="kebab-case, e.g. switch-off, outside-window, breaker-open, cost-ceiling")
    scope: str = Field(description="host, or repo:<name>, agent:<name>, ticket:<id>")
    cause: str
    since_ms: EpochMs
    cure: str
    clears_ms: EpochMs | None = Field(default=None, description="when it clears by itself, if it does")
