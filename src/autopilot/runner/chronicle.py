"""Keeps the run's `agent-state.json`: which phase it is in, and how it ended.

Must not decide anything: it writes down what the phases did, for `resume` and for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.runner.state import create_state, update_state
from autopilot.schemas.agent_state import SCHEMA_VERSION, AgentState
from autopilot.schemas.events import Event
from autopilot.schemas.machine import WaitingFor
from autopilot.schemas.run import Outcome
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autopilot.config.clock import Clock
    from autopilot.schemas.gate import TestCounts
    from autopilot.schemas.run import Baseline, RunResult, RunSpec

STATE_FILE = "agent-state.json"
PHASES = ("Init", "Plan", "Dev", "Review", "Commit", "Report")
INIT, PLAN, DEV, REVIEW, COMMIT, REPORT = range(len(PHASES))
_PARKED: Mapping[Outcome, WaitingFor] = {
    Outcome.ASKED: WaitingFor.QUESTIONS,
    Outcome.NO_CHANGES: WaitingFor.NO_CHANGES,
    Outcome.BASE_BRANCH: WaitingFor.BASE_BRANCH,
    Outcome.CONFIGURATION: WaitingFor.CONFIGURATION,
    Outcome.CREDENTIAL: WaitingFor.CREDENTIAL,
    Outcome.GATES_FAILED: WaitingFor.BREAKER,
    Outcome.OVER_CEILING: WaitingFor.BUDGET,
    Outcome.OVER_BUDGET: WaitingFor.BREAKER,
    Outcome.AGENT_MISSING: WaitingFor.CONFIGURATION,
}
# A run's own breaker: the number of its trigger in the state document, and what is told of it.
_TRIPPED: Mapping[Outcome, tuple[int, str]] = {
    Outcome.GATES_FAILED: (1, "build or test retries exhausted"),
    Outcome.OVER_CEILING: (4, "the run's cost ceiling is reached"),
    Outcome.OVER_BUDGET: (4, "a phase has passed its token budget"),
    Outcome.AGENT_MISSING: (5, "the agent cannot be started"),
}
_CAUSES: Mapping[int, str] = {1: "retries-exhausted", 4: "budget", 5: "infrastructure"}


class Chronicle:
    """One run's state document."""

    def __init__(
        self, spec: RunSpec, clock: Clock, tell: Callable[[Event, Mapping[str, object]], None]
    ) -> None:
        """Take the run, the clock of its times, and whom to tell of each phase."""
        self._spec, self._clock, self._tell = spec, clock, tell
        self._path = spec.run_dir / STATE_FILE
        self._phase = INIT

    def begin(self) -> None:
        """Write the document's first revision.

        Raises:
            InvariantError: there is one already; a run folder serves one run.
        """
        spec, identity = self._spec, self._spec.identity
        document: dict[str, Any] = {
            "schemaVersion": SCHEMA_VERSION,
            "taskId": spec.task_id,
            "shortId": spec.short_id,
            "runId": spec.run_id,
            "project": spec.repo.name,
            "worktreePath": str(spec.worktree),
            "branch": spec.branch,
            "baseBranch": spec.repo.base or "",
            "baseBranchSource": spec.repo.base_source,
            "currentPhase": INIT,
            "status": "in_progress",
            "startedAt": self._now(),
            "autopilot": True,
            "workspaceSource": "autopilot",
            "identity": {"name": identity.name, "email": identity.email, "username": identity.username},
            "phases": {str(number): {"status": "pending"} for number in range(len(PHASES))},
        }
        create_state(self._path, AgentState.model_validate(document, strict=False))

    def enter(self, phase: int) -> None:
        """Enter a phase."""
        self._phase = phase
        self._merge(
            {
                "currentPhase": phase,
                "phases": {str(phase): {"status": "in_progress", "startedAt": self._now()}},
            }
        )
        self._tell(Event.PHASE_ENTERED, {"phase": phase, "name": PHASES[phase]})

    def note(self, patch: Mapping[str, Any]) -> None:
        """Set keys of the document."""
        self._merge(patch)

    def leave(self, phase: int, *, status: str = "done", **more: Any) -> None:  # noqa: ANN401 - the phase's own keys
        """Finish a phase; `status` is the document's word for how."""
        self._merge({"phases": {str(phase): {"status": status, "finishedAt": self._now(), **more}}})
        self._tell(Event.PHASE_FINISHED, {"phase": phase, "name": PHASES[phase], "status": status})

    def measured(self, baseline: Baseline) -> None:
        """Record how the base's own tests came out."""
        status = "green" if baseline.green else "red" if _is_red(baseline.counts) else "unknown"
        failing = list(baseline.counts.failing_ids) if baseline.counts else []
        tests = {"status": status, "failing": failing, "capturedAt": self._now()}
        self._merge({"baseline": {"tests": tests}})

    def close(self, result: RunResult, *, rounds: int) -> None:
        """Record how the run ended."""
        now = self._now()
        patch: dict[str, Any] = {
            "finishedAt": now,
            "baseBranch": result.base or "",
            "gates": [gate.model_dump(mode="json") for gate in result.gates],
        }
        if result.outcome is Outcome.COMMITTED:
            patch |= {"status": "complete"}
        else:
            waiting_for = _PARKED.get(result.outcome)
            is_paused = waiting_for is not None or result.outcome in {Outcome.STOPPED, Outcome.USAGE_LIMIT}
            patch |= {
                "status": "paused" if is_paused else "failed",
                "waitingFor": waiting_for.value if waiting_for else None,
                "haltReason": f"{self._phase}:{self._cause(result)}",
                "phases": {str(self._phase): {"status": "failed", "finishedAt": now}},
            }
            if result.outcome in _TRIPPED:
                patch |= {"circuitBreaker": self._tripped(result, rounds=rounds, now=now)}
        self._merge(patch)

    def _cause(self, result: RunResult) -> str:
        if result.outcome not in _TRIPPED:
            return result.code
        return f"circuit-breaker:{_CAUSES[_TRIPPED[result.outcome][0]]}"

    def _tripped(self, result: RunResult, *, rounds: int, now: str) -> Mapping[str, Any]:
        trigger, detail = _TRIPPED[result.outcome]
        return {
            "tripped": True,
            "trigger": trigger,
            "detail": f"{detail}: {result.message}",
            "checkpoint": {"phase": self._phase, "step": result.code, "iteration": max(1, rounds)},
            "trippedAt": now,
            "counters": {
                "testAttempts": rounds,
                "tokensUsed": result.usage.input_tokens + result.usage.output_tokens,
            },
        }

    def _merge(self, patch: Mapping[str, Any]) -> None:
        """Write a patch; what somebody wrote in between, a steer for instance, stays."""
        update_state(self._path, patch)

    def _now(self) -> str:
        return iso_utc(self._clock.now_ms())


def _is_red(counts: TestCounts | None) -> bool:
    return counts is not None and bool(counts.failed + counts.errored)
