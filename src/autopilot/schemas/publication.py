"""One verified commit becoming one draft pull request: request, instruction, verdict, fate."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field

from autopilot.schemas.blocked import Blocked
from autopilot.schemas.cell import OpenedKind, SandboxSpec
from autopilot.schemas.gate import GateRecord
from autopilot.schemas.network import NetworkSpec
from autopilot.schemas.records import EpochMs, Record, Sha
from autopilot.schemas.run import Identity, Lease, Seconds, Usage
from autopilot.schemas.scope import ScopeLine


class PublishRequest(Record):
    """What the run asks for (`pr-requests/<id>.json`). Claims only: nothing here decides anything."""

    request_version: Literal[1] = 1
    id: str
    ticket: str
    run: str
    repo_id: str
    base: str
    branch: str
    head: Sha
    title: str
    summary: str
    scope_check: tuple[ScopeLine, ...] = ()
    gates: tuple[GateRecord, ...] = ()
    usage: Usage = Usage.model_construct()
    notes: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = Field(default=(), description="what the run tried and was not let do")
    created_ms: EpochMs


class ForgeSpec(Record):
    """Where the pull request goes, from the operator's configuration."""

    kind: Literal["local", "github"]
    push_url: str
    api_url: str = ""
    project: str = Field(default="", description="owner/name on the forge")
    credential: str = Field(default="", description="name under which config/secrets finds the token")
    record_dir: Path | None = Field(default=None, description="local forge: where its pull requests lie")


class PublishSpec(Record):
    """Into the publisher, written by the daemon from its own records."""

    spec_version: Literal[1] = 1
    id: str
    ticket_id: str
    ticket_ref: str = Field(description="how the PR refers to the ticket: T-3, #12, PROJ-7")
    run_id: str
    request: Path
    verdict: Path
    workdir: Path = Field(description="a private folder for staging and checkout")
    source: Path = Field(description="the repository that holds `head`")
    mirror: Path
    forge: ForgeSpec
    base: str
    base_sha: Sha
    branch: str
    head: Sha
    recorded_branch: str = Field(description="the branch the run recorded; must equal `branch`")
    expected_remote_head: Sha | None = Field(
        description="what we pushed last; None = the branch must not exist"
    )
    attempted_heads: tuple[Sha, ...] = Field(
        default=(), description="commits we may have pushed to the branch without hearing whether it worked"
    )
    idempotency_key: str
    fence: int | None = Field(default=None, ge=0, description="of the claim that this try works for")
    lease: Lease | None = Field(default=None, description="None: nobody renews one")
    identity: Identity
    recorded_gates: tuple[GateRecord, ...]
    run_sandbox: OpenedKind | None = Field(
        default=None, description="what the run was locked up in; None: not recorded"
    )
    env_pass: tuple[str, ...] = ()
    sandbox: SandboxSpec = Field(
        default=SandboxSpec.model_construct(), description="for running the gates again"
    )
    network: NetworkSpec = NetworkSpec.model_construct()
    gate_s: Seconds = 1800
    git_s: Seconds = 600
    kill_grace_s: Seconds = 10
    created_ms: EpochMs


STOPPED = "stopped"
"""The code of a publication that was put off by ourselves: it says nothing about forge or remote."""


class PublishOutcome(StrEnum):
    """The verdict's one word."""

    PR_OPENED = "pr-opened"
    PUSHED_AWAITING_PR = "pushed-awaiting-pr"
    VERIFICATION_FAILED = "verification-failed"
    PUBLISH_DEFERRED = "publish-deferred"


class CheckLine(Record):
    """One check of the publisher and everything it found."""

    check: str
    passed: bool
    reasons: tuple[str, ...] = ()


class PullRequest(Record):
    """The pull request as the forge knows it."""

    number: int = Field(ge=1)
    url: str
    draft: bool
    state: Literal["open", "closed", "merged"] = "open"


class PublishVerdict(Record):
    """Out of the publisher (`pr-requests/<id>.verdict.json`). All reasons, not only the first."""

    verdict_version: Literal[1] = 1
    id: str
    ticket_id: str
    run_id: str
    fence: int | None = Field(default=None, ge=0, description="the spec's own; None: from before fences")
    outcome: PublishOutcome
    code: str
    message: str
    hint: str = ""
    waiting_for: Literal["verification-failed", "branch-conflict", "credential", "configuration"] | None = (
        None
    )
    checks: tuple[CheckLine, ...] = ()
    gates: tuple[GateRecord, ...] = Field(default=(), description="the re-run's own ledger entries")
    pushed: Sha | None = None
    base_behind: int | None = Field(default=None, description="commits the base moved on since the run began")
    pr: PullRequest | None = None
    retry_after_s: float | None = Field(
        default=None, description="as the forge asked; None = by the daemon's back-off"
    )
    finished_ms: EpochMs


class PullQuestion(Record):
    """A pull request of ours whose fate is asked, as our own records know it."""

    publication: str
    number: int = Field(ge=1)
    branch: str = Field(description="another branch at the forge means another pull request")


class PullStateSpec(Record):
    """Into `autopilot.publish state`: what became of these pull requests of one repository?"""

    spec_version: Literal[1] = 1
    id: str
    report: Path
    workdir: Path = Field(description="a private folder for one question at a time")
    forge: ForgeSpec
    mirror: Path | None = Field(default=None, description="our own mirror, to borrow objects from")
    pulls: tuple[PullQuestion, ...]
    wall_s: Seconds = Field(default=60, description="what is not answered by then stays unknown")
    kill_grace_s: Seconds = 10
    created_ms: EpochMs


class PullState(Record):
    """What became of one pull request. Only a certain answer is another than `unknown`."""

    publication: str
    state: Literal["open", "closed", "merged", "unknown"]
    code: str = Field(default="", description="why it is unknown")
    message: str = ""


class PullStateReport(Record):
    """Out of `autopilot.publish state`; one answer for each question."""

    report_version: Literal[1] = 1
    id: str
    answers: tuple[PullState, ...]
    finished_ms: EpochMs


class PushTrialSpec(Record):
    """Into `autopilot.publish try`: could a branch of ours be pushed there? Nothing is."""

    spec_version: Literal[1] = 1
    id: str
    report: Path
    workdir: Path = Field(description="a private folder for one question at a time")
    forge: ForgeSpec
    branch: str = Field(description="a branch of ours that no ticket has")
    wall_s: Seconds = Field(default=15, description="seconds that the remote may take, all in all")
    kill_grace_s: Seconds = 2


class PushTrialReport(Record):
    """Out of `autopilot.publish try`."""

    report_version: Literal[1] = 1
    id: str
    ok: bool
    code: str = Field(default="", description="why not")
    message: str = ""
    hint: str = ""
    is_transient: bool = Field(default=False, description="the same may well succeed later")


class ForgeCheckSpec(Record):
    """Into `autopilot.publish check`: what may the credential, and what do the forge's rules leave open?"""

    spec_version: Literal[1] = 1
    report: Path
    workdir: Path = Field(description="a private folder for one question at a time")
    forge: ForgeSpec
    base: str = Field(default="", description="the base branch; empty: the forge's default branch")
    answer_s: Seconds = Field(default=20, description="seconds that one answer, or one git call, may take")


class ReachReport(Record):
    """Out of `autopilot.publish check` and `reach`. Without an answer, `code` and `message` say why."""

    report_version: Literal[1] = 1
    weaknesses: tuple[str, ...] = ()
    code: str = ""
    message: str = ""
