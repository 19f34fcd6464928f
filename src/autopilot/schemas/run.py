"""What goes into a runner (`spec.json`) and what comes out of it (`result.json`)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from autopilot.schemas.blocked import Blocked
from autopilot.schemas.cell import OpenedKind, SandboxSpec
from autopilot.schemas.gate import GateRecord, TestCounts
from autopilot.schemas.guard import GuardSpec
from autopilot.schemas.ids import LANGUAGE
from autopilot.schemas.network import NetworkSpec
from autopilot.schemas.price import TokenPrice
from autopilot.schemas.records import Code, EpochMs, MicroUsd, Record, Sha
from autopilot.schemas.ticket import Exchange
from autopilot.schemas.units import MAX_RUN_MICRO_USD

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Budget = Annotated[int, Field(ge=1, le=10**12)]
PaidPhase = Literal["plan", "dev", "review"]
"""The phases in which an agent is paid."""


class Identity(Record):
    """Who the commit says wrote it. `username` is the forge account, for reviewer filtering."""

    name: str = Field(min_length=1, description="author and committer of every commit")
    email: str = Field(min_length=3, description="their address")
    username: str = Field(default="", description="their account on the forge")


class AgentSpec(Record):
    """Which agent, how it is started and how its cost is known."""

    name: str = Field(description="the operator's name for it: the key in [agents]")
    kind: str = Field(description="its adapter, by the name that [agents] uses")
    argv: tuple[str, ...] = Field(
        default=(), description="program and leading arguments; empty = adapter default"
    )
    model: str | None = None
    billing: Literal["metered", "subscription"] = "metered"
    env_pass: tuple[str, ...] = Field(default=(), description="names of variables the agent alone may see")
    api: tuple[str, ...] = Field(
        default=(), description="addresses of its model's service; empty = the adapter's own"
    )
    broker: Literal["auto", "off"] = Field(
        default="auto", description="auto: its sign-in stays outside of the cell where that is known to work"
    )
    base_url_env: str | None = Field(default=None, description="command: the variable of its base address")
    key_env: str | None = Field(default=None, description="command: the variable of its key")
    script: Path | None = Field(default=None, description="scripted only: the YAML to play")
    prices: dict[str, TokenPrice] = Field(
        default_factory=dict, description="by model, for tokens that are told without a cost"
    )


class RepoSpec(Record):
    """The repository as the operator configured it, never as the agent left it."""

    name: str
    url: str = Field(description="what git fetches from: a URL or an absolute path")
    mirror: Path
    base: str | None = Field(default=None, description="None: ask the remote which branch is its default")
    base_source: Literal["input", "remembered", "derived", "default"] = "default"
    cached_default: str | None = Field(
        default=None, description="what a local clone believes, to report a mismatch"
    )
    env_pass: tuple[str, ...] = ()


class Limits(Record):
    """Where a run is stopped. Times in seconds."""

    run_ceiling_micro_usd: MicroUsd
    wall_s: Seconds = 7200
    silence_s: Seconds = 900
    no_progress_s: Seconds = 2700
    gate_s: Seconds = 1800
    git_s: Seconds = 600
    kill_grace_s: Seconds = 10
    rounds: int = Field(default=3, ge=1, le=3, description="times the agent may try to get the gates green")
    output_bytes: int = Field(default=512 * 1024 * 1024, gt=0, description="most an agent may print")
    phase_tokens: dict[PaidPhase, Budget] = Field(
        default_factory=dict, description="most tokens a phase may use, those from a cache not counted"
    )


class Lease(Record):
    """By what a child knows that somebody looks after it."""

    file: Path = Field(description="its time changes with every renewal; only that it changes counts")
    lease_s: Seconds = Field(description="a child that saw no renewal for 80 % of this, awake, ends itself")


class RunSpec(Record):
    """One attempt at one ticket: everything the runner may know."""

    spec_version: Literal[1] = 1
    run_id: str
    ticket_id: str
    task_id: str = Field(
        min_length=1, description="tracker key, #issue or slug: what the state file calls it"
    )
    short_id: int = Field(ge=1)
    attempt: int = Field(ge=1)
    fence: int = Field(ge=0)
    title: str
    body: str
    acceptance: tuple[str, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    repo: RepoSpec
    branch: str
    worktree: Path
    run_dir: Path
    pr_request: Path = Field(description="where the request to publish is written")
    salvage_dir: Path | None = Field(
        default=None, description="where work of the ticket is saved; None: in the run's own folder"
    )
    agent: AgentSpec
    identity: Identity
    limits: Limits
    lease: Lease | None = Field(default=None, description="None: nobody renews one, and the run goes on")
    sandbox: SandboxSpec = SandboxSpec.model_construct()
    network: NetworkSpec = NetworkSpec.model_construct()
    guard: GuardSpec = GuardSpec.model_construct()
    output_language: str = Field(default="en", pattern=LANGUAGE)
    created_ms: EpochMs


class Usage(Record):
    """What an attempt used. `known` is False when the agent ended without telling."""

    cost_micro_usd: Annotated[MicroUsd, Field(le=MAX_RUN_MICRO_USD)] = 0
    known: bool = False
    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_tokens: Count = 0
    turns: Count = 0
    unpriced: tuple[str, ...] = Field(
        default=(), description="models whose tokens have no price; empty name: the agent named none"
    )

    @property
    def tokens(self) -> int:
        """Give every token that was paid for in any way, one read from a cache too."""
        return self.input_tokens + self.output_tokens + self.cached_tokens


class PhaseUsage(Record):
    """What the agents of one phase used."""

    phase: PaidPhase
    usage: Usage


class Outcome(StrEnum):
    """How a run ended; `decide.after_run` turns it into a move."""

    COMMITTED = "committed"
    NO_CHANGES = "no-changes"
    ASKED = "asked"
    GATES_FAILED = "gates-failed"
    AGENT_FAILED = "agent-failed"
    AGENT_MISSING = "agent-missing"
    CREDENTIAL = "credential"
    USAGE_LIMIT = "usage-limit"
    OVER_CEILING = "over-ceiling"
    OVER_BUDGET = "over-budget"
    TIMED_OUT = "timed-out"
    INFRASTRUCTURE = "infrastructure"
    BASE_BRANCH = "base-branch"
    CONFIGURATION = "configuration"
    STOPPED = "stopped"
    BUG = "bug"


CONTENTION_CODES = frozenset({"git-lock", "mirror-busy", "lock-held", "program-replaced"})
"""Codes of a run that other work on this machine was in the way of, and whose patience ran out.

A lock was held for too long, or the program was replaced below it.
"""


class Baseline(Record):
    """The base commit's own tests, before the agent: what was red already."""

    counts: TestCounts | None
    green: bool
    reason: str = ""
    code: str = Field(
        default="", description="the gate's own code: not-started means that no test could ever run"
    )


class RunResult(Record):
    """What the runner says at its end. Written once: temp file, fsync, rename."""

    result_version: Literal[1] = 1
    run_id: str
    ticket_id: str
    attempt: int
    fence: int
    outcome: Outcome
    code: Code
    message: str = Field(description="one sentence for a person")
    hint: str = ""
    base: str | None = None
    base_source: str | None = None
    base_sha: Sha | None = None
    head: Sha | None = None
    branch: str
    stack: str | None = None
    sandbox: OpenedKind | None = Field(
        default=None, description="what the run opened, whatever is configured by now; None: not recorded"
    )
    baseline: Baseline | None = None
    gates: tuple[GateRecord, ...] = ()
    usage: Usage = Usage.model_construct()
    phases: tuple[PhaseUsage, ...] = Field(default=(), description="the same usage, by phase")
    questions: tuple[str, ...] = ()
    denials: tuple[str, ...] = Field(default=(), description="tools the agent was refused")
    blocked: tuple[Blocked, ...] = Field(default=(), description="what the run tried and was not let do")
    warnings: tuple[str, ...] = ()
    changed_files: int = Field(default=0, ge=0)
    resets_ms: EpochMs | None = Field(default=None, description="usage limit: when the window opens again")
    started_ms: EpochMs
    finished_ms: EpochMs


class VerifySpec(Record):
    """Into `runner verify`: re-run the gates of one commit in a fresh checkout. Out: VerifyResult."""

    ticket_id: str
    repository: Path = Field(description="a bare repository of ours that holds `head` and `base_sha`")
    head: Sha
    base_sha: Sha
    workdir: Path = Field(description="an empty folder for the checkout and the reports")
    env_pass: tuple[str, ...] = ()
    sandbox: SandboxSpec = SandboxSpec.model_construct()
    network: NetworkSpec = NetworkSpec.model_construct()
    gate_s: Seconds = 1800
    git_s: Seconds = 600
    kill_grace_s: Seconds = 10


class VerifyResult(Record):
    """What the re-run found."""

    head: Sha
    stack: str
    gates: tuple[GateRecord, ...]
    sandbox: OpenedKind | None = Field(default=None, description="what the gates ran in")
    error: str = Field(default="", description="why it could not run at all; then no gate counts")
    code: str = Field(
        default="", description="the same in one kebab-case word: git-no-ref, policy-invalid, …"
    )
