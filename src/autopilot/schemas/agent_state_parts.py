"""Parts of the state document that several of its fields are made of. Names on disk are camelCase.

Must not hold a rule about what happens next: the document says what is, `decide` says what follows.
Source: the checklist rows O06-O47 of tests/features.tsv, and docs/decisions/0035.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from autopilot.schemas.units import parse_iso_ms

LAST_PHASE = 5
MAX_STEER_CHARS = 4000
MAX_RETRIES = 3


def _timed(text: str) -> str:
    parse_iso_ms(text)
    return text


Timestamp = Annotated[str, AfterValidator(_timed), Field(json_schema_extra={"format": "date-time"})]
PhaseNumber = Annotated[int, Field(ge=0, le=LAST_PHASE)]
PhaseKey = Annotated[str, Field(pattern=f"^[0-{LAST_PHASE}]$")]
Count = Annotated[int, Field(ge=0)]
Loose = dict[str, Any]


class StatePart(BaseModel):
    """A part with a closed set of keys; types are exact, so that a number in quotes is refused."""

    model_config = ConfigDict(
        defer_build=True,  # as records do
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        allow_inf_nan=False,
    )


class OpenPart(StatePart):
    """A part that grows over the phases: further keys are kept as they are."""

    model_config = ConfigDict(extra="allow")


class GithubIssue(StatePart):
    owner: str
    repo: str
    number: int = Field(ge=1)


class StateIdentity(StatePart):
    """Who the commits say wrote them; `username` filters the author out of the reviewers."""

    name: str
    email: str = Field(min_length=1, json_schema_extra={"format": "email"})
    username: str | None = None


class RelatedIssue(StatePart):
    """Another sub-task of the same parent, kept because a resumed run works from artefacts."""

    key: str
    relation: Literal["sibling"]
    type: str | None = None
    status: str | None = None
    summary: str | None = None
    description: str | None = None
    truncated: bool = False


class Sibling(StatePart):
    """A repository that was offered and that this run does not change."""

    name: str
    root: str | None = Field(description="path of its checkout; null = known, but not checked out")
    stack: Literal["ios", "android", "node", "python", "go", "unknown"]
    can_push: bool = False


class PendingSteer(StatePart):
    """One instruction of the operator; consumed at a phase's entry, kept as a trace afterwards."""

    text: str = Field(min_length=1, max_length=MAX_STEER_CHARS)
    at: Timestamp
    applied_at: Timestamp | None = None
    applied_phase: PhaseNumber | None = None

    @property
    def is_consumed(self) -> bool:
        """Tell whether a phase has taken it."""
        return self.applied_at is not None


class McpCall(OpenPart):
    tool: str
    phase: PhaseNumber
    timestamp: str | None = None


class SkillCall(OpenPart):
    skill: str = Field(min_length=1)
    phase: PhaseNumber
    target_files: tuple[str, ...]
    timestamp: str | None = None
    routed_by: str | None = None


class Telemetry(OpenPart):
    mcp_calls: tuple[McpCall, ...] = ()
    skill_calls: tuple[SkillCall, ...] = ()


class Phase(StatePart):
    """What is known of one phase."""

    status: Literal["pending", "in_progress", "done", "skipped", "failed"] | None = None
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    model: str | None = None
    files: tuple[str, ...] = Field(default=(), description="made or changed by the phase")
    retry_count: int = Field(default=0, ge=0, le=MAX_RETRIES)
    sub_step: str | None = Field(default=None, min_length=1, description="checkpoint, e.g. red, green, build")
    notes: str | None = None
    clarification_rounds: int | None = Field(default=None, ge=0, le=2)
    clarification_questions: tuple[str, ...] = ()
    clarification_answers: tuple[str, ...] = ()
    plan_iterations: int | None = Field(default=None, ge=1)
    plan_approved_at: Timestamp | None = None
    plan_edit_requests: tuple[str, ...] = ()


class BaselineTests(OpenPart):
    """The suite before any change. Unknown is a value of its own: a skipped baseline is not a green one."""

    status: Literal["green", "red", "unknown"] | None = None
    failing: tuple[str, ...] = Field(default=(), description="empty while red = inherited, not attributable")
    log_path: str | None = None
    captured_at: Timestamp | None = None
    command: str | None = None


class StateBaseline(OpenPart):
    tests: BaselineTests | None = None


class Checkpoint(StatePart):
    phase: PhaseNumber | None = None
    step: str | None = None
    iteration: int | None = Field(default=None, ge=1)


class BreakerCounters(StatePart):
    """What the triggers count; a resume keeps them."""

    identical_finding_cycles: Count | None = None
    rework_cycles: Count | None = None
    build_attempts: Count | None = None
    test_attempts: Count | None = None
    tokens_used: Count | None = None
    cost_usd: float | None = Field(default=None, ge=0)
    contract_failures: Count | None = None
    ask_rounds: Count | None = None


class CircuitBreaker(StatePart):
    """The in-run breaker, written only when a trigger fires (1-6: docs/architecture.md)."""

    tripped: bool
    trigger: int | None = Field(default=None, ge=1, le=6)
    detail: str | None = None
    checkpoint: Checkpoint | None = None
    tripped_at: Timestamp | None = None
    counters: BreakerCounters | None = None

    def cleared(self) -> CircuitBreaker:
        """Give what a resume leaves: no longer tripped, everything counted so far still counted."""
        return self.model_copy(update={"tripped": False})


class DiffRisk(OpenPart):
    """Totals of the risk score; this part alone was always written in snake_case."""

    model_config = ConfigDict(alias_generator=None)

    files: Count | None = None
    loc_added: Count | None = None
    loc_removed: Count | None = None
    max_score: float | None = None
    signals: tuple[str, ...] = ()


class StateCommit(StatePart):
    sha: str | None = Field(default=None, min_length=7)
    message: str | None = None


class StatePr(StatePart):
    number: int | None = Field(default=None, ge=1)
    url: str | None = Field(default=None, json_schema_extra={"format": "uri"})
    version: Count | None = None
    draft: bool | None = None
    reviewers: tuple[str, ...] = ()


class BuildStatus(OpenPart):
    ok: bool | None = None
    attempts: Count | None = None
    last_error: str | None = None


class StateProject(StatePart):
    """One repository of a task that spans several."""

    project: str
    project_root: str
    worktree_path: str | None = None
    branch: str
    base_branch: str
    remote_type: Literal["github", "bitbucket", "gitlab", "generic-git"] | None = None
    platform: Literal["bitbucket", "github", "gitlab", "generic-git"] | None = None
    identity: StateIdentity
    commit: StateCommit | None = None
    pr: StatePr | None = None
    push_attempts: Count = 0
    build_status: Literal["pending", "passed", "failed", "green"] | BuildStatus | None = None


class Maturity(StatePart):
    """Gaps of the ticket that a person waived, by their codes."""

    accepted: tuple[str, ...] = ()


class BaseCandidate(StatePart):
    """A branch that could be the base, and where its ref was seen."""

    branch: str
    ref_provenance: Literal["remote", "stale", "cache"]
