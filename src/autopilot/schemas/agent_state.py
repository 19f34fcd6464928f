"""`agent-state.json` 3.0.0: the one record of a run that every phase reads. The root is closed.

Must not read or write a file (runner/state.py does) and must not know how 2.x looked (agent_state_migration).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from autopilot.schemas.agent_state_migration import OLD_VERSIONS, translated
from autopilot.schemas.agent_state_parts import (
    BaseCandidate,
    CircuitBreaker,
    Count,
    DiffRisk,
    GithubIssue,
    Loose,
    Maturity,
    PendingSteer,
    Phase,
    PhaseKey,
    PhaseNumber,
    RelatedIssue,
    Sibling,
    StateBaseline,
    StateCommit,
    StateIdentity,
    StatePart,
    StatePr,
    StateProject,
    Telemetry,
    Timestamp,
)
from autopilot.schemas.agent_state_review import ReviewIteration
from autopilot.schemas.gate import GateRecord
from autopilot.schemas.machine import WaitingFor

SCHEMA_VERSION = "3.0.0"

HaltReason = Annotated[
    str, Field(pattern=r"^[0-5]:.+$", description="<phase>:<cause>; the cause may hold colons")
]


class AgentState(StatePart):
    """The state of one run."""

    schema_version: Literal["3.0.0"]
    task_id: str = Field(min_length=1)
    short_id: int = Field(ge=1)
    run_id: str | None = None
    jira_id: str | None = None
    github_issue: GithubIssue | None = None
    project: str = Field(description="partitions logs and knowledge")
    project_root: str | None = None
    worktree_path: str | None = Field(default=None, description="null: the run works in the root")
    branch: str
    base_branch: str = Field(description="what the pull request goes into")
    base_branch_source: Literal["asked", "input", "remembered", "derived", "default"] | None = None
    base_branch_candidates: tuple[BaseCandidate, ...] = ()
    remote_type: Literal["github", "bitbucket"] | None = None
    current_phase: PhaseNumber = Field(description="the phase entered last")
    status: Literal["in_progress", "paused", "complete", "failed"]
    waiting_for: WaitingFor | None = None
    started_at: Timestamp
    finished_at: Timestamp | None = None
    halt_reason: HaltReason | None = None
    related_issues: tuple[RelatedIssue, ...] = Field(default=(), max_length=20)
    siblings: tuple[Sibling, ...] = Field(default=(), max_length=10)
    rev: Count = Field(default=0, description="rises with every write; compare it before writing back")
    pending_steer: PendingSteer | None = None
    telemetry: Telemetry | None = None
    autopilot: bool = False
    only_develop: bool = False
    local_mode: bool = False
    instruction_driven: bool = False
    workspace_source: Literal["asked", "autopilot", "default"] | None = None
    task_type: str | None = None
    mode: str | None = None
    maturity: Maturity | None = None
    plan: Loose | None = None
    analysis: Loose | None = None
    run: Loose | None = None
    figma_access: Loose | None = None
    design_check: Loose | None = None
    identity: StateIdentity
    phases: dict[PhaseKey, Phase] = Field(json_schema_extra={"additionalProperties": False})
    baseline: StateBaseline | None = None
    review_iterations: tuple[ReviewIteration, ...] = ()
    circuit_breaker: CircuitBreaker | None = None
    gates: tuple[GateRecord, ...] = Field(default=(), description="the run's ledger, append-only")
    diff_risk: DiffRisk | None = None
    confluence_space: str | None = None
    confluence_parent_id: str | None = None
    pr: StatePr | None = None
    commit: StateCommit | None = None
    projects: tuple[StateProject, ...] | None = Field(default=None, min_length=1, max_length=10)
    worktree_removed_at: Timestamp | None = Field(default=None, description="set: tidied, not killed")
    artifacts_path: str | None = None
    test_depth: Literal["unit", "unit+ui", "unit+mcp"] | None = None
    test_depth_source: Literal["user", "autopilot", "default", "forced"] | None = None
    evidence_capability: Loose | None = None
    ui_test: Loose | None = None
    visual_evidence: Loose | None = None

    @model_validator(mode="after")
    def _a_waiting_run_is_paused(self) -> Self:
        if self.waiting_for is not None and self.status != "paused":
            msg = f"waitingFor is {self.waiting_for.value!r}, so status must be 'paused', not {self.status!r}"
            raise ValueError(msg)
        return self

    def to_json(self) -> bytes:
        """Give the document as it is stored; what nobody ever set is left out."""
        return self.model_dump_json(by_alias=True, exclude_unset=True, indent=2).encode() + b"\n"


def parse_state(content: bytes) -> AgentState:
    """Read a state document of any known version.

    Args:
        content: the whole file.

    Returns:
        The document as 3.0.0; 2.0.0 and 2.1.0 are translated from eight phases to six.

    Raises:
        ValueError: it is no document of a known version; the text names the field.
    """
    document = TypeAdapter(dict[str, Any]).validate_json(content)
    if document.get("schemaVersion") in OLD_VERSIONS:
        document = translated(document)
    return AgentState.model_validate_json(TypeAdapter(dict[str, Any]).dump_json(document))
