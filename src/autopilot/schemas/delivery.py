"""One text on its way out of this machine: what the publisher is told of it, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from autopilot.schemas.records import EpochMs, Record
from autopilot.schemas.run import Seconds
from autopilot.schemas.tracking import TrackerSpec

DeliveryKind = Literal["digest", "draft", "issue"]
DeliveryOutcome = Literal["sent", "refused", "rejected", "not-sent", "unsure"]


class ChannelSpec(Record):
    """Where a text goes, from the operator's configuration."""

    name: str
    kind: Literal["command", "webhook"]
    argv: tuple[str, ...] = ()
    credential: str = Field(default="", description="name under which config/secrets finds the address")
    format: Literal["slack", "plain"] = "slack"
    limit_s: Seconds = 20


class IssueTarget(Record):
    """An issue that is commented on."""

    tracker: TrackerSpec
    reference: str = Field(description="12, or PROJ-7")
    known_by: str = Field(min_length=8, description="what the comment says and no other one does")


class DeliverySpec(Record):
    """Into `autopilot.publish deliver`: let this text go out through this channel or to this issue, once."""

    spec_version: Literal[1] = 1
    id: str
    report: Path
    workdir: Path = Field(description="a private folder for one delivery at a time")
    mark: Path = Field(description="made before anything is sent; while it is there, nothing is sent again")
    to: ChannelSpec | IssueTarget
    text: str
    roots: tuple[str, ...] = Field(description="folders of this machine whose paths must not leave it")
    kill_grace_s: Seconds = 5
    created_ms: EpochMs


class DeliveryReport(Record):
    """Out of `autopilot.publish deliver`.

    `refused`: by our own gate; `rejected`: by who it was sent to; `not-sent`: nothing left this machine, and
    it may be tried again; `unsure`: it may have been sent, and nobody can tell.
    """

    report_version: Literal[1] = 1
    id: str
    outcome: DeliveryOutcome
    code: str = ""
    message: str = ""
    hint: str = ""
    finished_ms: EpochMs
