"""An issue of a tracker: where it is, what was read of it, and what was asked to read it.

Pure data. What a tracker says is text of others: nothing here decides anything by it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from autopilot.schemas.origin import Account
from autopilot.schemas.records import Record
from autopilot.schemas.run import Seconds


class TrackerSpec(Record):
    """Where issues are, from the operator's configuration."""

    kind: Literal["github", "jira"]
    name: str = Field(description="what its accounts are called by: github, in github:583231")
    url: str = Field(description="its interface's address")
    site: str = Field(default="", description="where people read its issues; empty: at url")
    project: str = Field(default="", description="github: owner/name")
    account: str = Field(default="", description="jira: whose token it is, by mail; empty: the token says it")
    credential: str = Field(default="", description="name under which config/secrets finds the token")


class Issue(Record):
    """One issue as its tracker tells it."""

    title: str
    body: str = ""
    author: Account | None = Field(default=None, description="who wrote it, by number; None: not told")
    association: str = Field(default="NONE", max_length=40)
    editors: tuple[Account, ...] = Field(
        default=(), description="who changed title or body since, where the tracker tells"
    )
    state: Literal["open", "closed"] = "open"


class IssueSpec(Record):
    """Into `autopilot.publish read`: what does this issue say?"""

    spec_version: Literal[1] = 1
    report: Path
    workdir: Path = Field(description="a private folder for one question at a time")
    tracker: TrackerSpec
    reference: str = Field(description="12, or PROJ-7")
    answer_s: Seconds = Field(default=15, description="seconds that one answer may take")


class IssueReport(Record):
    """Out of `autopilot.publish read`. Without an issue, `code`, `message` and `hint` say why."""

    report_version: Literal[1] = 1
    issue: Issue | None = None
    acts: Literal["nobody", "operator", "author", "us"] = Field(
        default="operator", description="who can mend what was in the way"
    )
    code: str = ""
    message: str = ""
    hint: str = ""


class TrackerCheckSpec(Record):
    """Into `autopilot.publish reach`: what may the credential of a tracker?"""

    spec_version: Literal[1] = 1
    report: Path
    workdir: Path = Field(description="a private folder for one question at a time")
    tracker: TrackerSpec
    answer_s: Seconds = Field(default=15, description="seconds that one answer may take")
