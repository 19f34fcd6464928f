"""What is known of a run so far, so that its result is right whenever and however it ends.

Must not decide anything: phases write in, the edge reads out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.barrier import Barrier
from autopilot.runner.meter import Meter, TokenMeter
from autopilot.schemas.run import Outcome, PhaseUsage, RunResult, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.runner.agents.adapter import AgentReport
    from autopilot.runner.failure import RunFailure
    from autopilot.runner.remote import Base
    from autopilot.schemas.cell import OpenedKind
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.run import Baseline, PaidPhase, RunSpec
    from autopilot.schemas.scope import ScopeLine

_MAX_WARNINGS = 50


class Notebook:
    """One run's facts."""

    def __init__(self, spec: RunSpec, *, started_ms: int) -> None:
        """Start with the specification alone."""
        is_metered = spec.agent.billing == "metered"
        self.spec = spec
        self.started_ms = started_ms
        self.meter = Meter(spec.limits.run_ceiling_micro_usd if is_metered else None)
        self.base: Base | None = None
        self.base_sha: str | None = None
        self.stack: str | None = None
        self.sandbox: OpenedKind | None = None
        self.baseline: Baseline | None = None
        self.head: str | None = None
        self.gates: tuple[GateRecord, ...] = ()
        self.scope: tuple[ScopeLine, ...] = ()
        self.questions: tuple[str, ...] = ()
        self.denials: tuple[str, ...] = ()
        self.barrier = Barrier()
        self.resets_ms: int | None = None
        self.final_text = ""
        self.phase: PaidPhase = "dev"
        self._tokens: dict[PaidPhase, TokenMeter] = {}
        self._rounds: list[PhaseUsage] = []
        self._warnings: dict[str, None] = {}

    def warn(self, warnings: Iterable[str]) -> None:
        """Add what a person should know; each once, and not without end."""
        for warning in warnings:
            if len(self._warnings) < _MAX_WARNINGS:
                self._warnings[_encodable(warning)] = None

    @property
    def rounds(self) -> int:
        """How many agent processes have ended."""
        return len(self._rounds)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know."""
        return tuple(self._warnings)

    def begin_process(self, phase: PaidPhase) -> None:
        """Begin to count for a new agent process of a phase."""
        self.phase = phase
        self.meter = self.meter.next_process()
        self._tokens[phase] = self.tokens(phase).next_process()

    def tokens(self, phase: PaidPhase) -> TokenMeter:
        """Give what a phase has used of its budget."""
        return self._tokens.get(phase, TokenMeter(self.spec.limits.phase_tokens.get(phase)))

    def read_tokens(self, tokens: int) -> TokenMeter:
        """Take a reading of the present process's counters, and give what its phase has used."""
        self._tokens[self.phase] = self.tokens(self.phase).read(tokens)
        return self._tokens[self.phase]

    def take_usage(self, usage: Usage) -> None:
        """Add what one agent process used; its cost is what the meter has counted since the one before."""
        before_micro_usd = sum(each.usage.cost_micro_usd for each in self._rounds)
        cost_micro_usd = max(0, self.meter.total_micro_usd - before_micro_usd)
        used = usage.model_copy(update={"cost_micro_usd": cost_micro_usd})
        self._rounds.append(PhaseUsage(phase=self.phase, usage=used))
        self.read_tokens(usage.input_tokens + usage.output_tokens)
        if not usage.known:
            self.meter = self.meter.lost_sight()

    def take(self, report: AgentReport, *, guarded: tuple[str, ...] = ()) -> None:
        """Take over what an agent process that came to its end has told.

        Args:
            report: its report.
            guarded: tools that the guard has refused and told of; some agents name them too, some do not.
        """
        self.take_usage(report.usage)
        self.warn(report.warnings)
        self.denials = tuple(dict.fromkeys((*self.denials, *report.denials, *guarded)))
        for denial in report.denials:
            if denial in guarded:
                continue
            self.barrier.add(by="tools", what=denial, code="denied")
        self.questions, self.resets_ms = report.questions, report.resets_ms
        self.final_text = report.final_text

    def usage(self) -> Usage:
        """Sum up all agent processes. Without one, nothing was spent, and that is known."""
        sums = _sum(each.usage for each in self._rounds)
        return sums.model_copy(
            update={"cost_micro_usd": self.meter.total_micro_usd, "known": self.meter.is_known}
        )

    def phases(self) -> tuple[PhaseUsage, ...]:
        """Sum up the agent processes of each phase, in the order in which the phases came."""
        names = dict.fromkeys(each.phase for each in self._rounds)
        return tuple(
            PhaseUsage(phase=name, usage=_sum(each.usage for each in self._rounds if each.phase == name))
            for name in names
        )

    def success(self, *, now_ms: int) -> RunResult:
        """Give the result of a run whose commit passed its gates."""
        return self._result(
            Outcome.COMMITTED, "committed", "the commit passed the run's gates", now_ms=now_ms
        )

    def failed(self, failure: RunFailure, *, now_ms: int) -> RunResult:
        """Give the result of a run that ended without such a commit."""
        return self._result(failure.outcome, failure.code, failure.what, hint=failure.hint, now_ms=now_ms)

    def _result(self, outcome: Outcome, code: str, message: str, *, now_ms: int, hint: str = "") -> RunResult:
        spec, is_asked = self.spec, outcome is Outcome.ASKED
        return RunResult(
            run_id=spec.run_id,
            ticket_id=spec.ticket_id,
            attempt=spec.attempt,
            fence=spec.fence,
            outcome=outcome,
            code=code,
            message=_encodable(message),
            hint=_encodable(hint),
            base=self.base.name if self.base else spec.repo.base,
            base_source=self.base.source if self.base else None,
            base_sha=self.base_sha,
            head=self.head,
            branch=spec.branch,
            stack=self.stack,
            sandbox=self.sandbox,
            baseline=self.baseline,
            gates=self.gates,
            usage=self.usage(),
            phases=self.phases(),
            questions=tuple(map(_encodable, self.questions)) if is_asked else (),
            denials=tuple(map(_encodable, self.denials)),
            blocked=self.barrier.told(),
            warnings=self.warnings,
            changed_files=len(self.scope),
            resets_ms=self.resets_ms,
            started_ms=self.started_ms,
            finished_ms=max(now_ms, self.started_ms),
        )


def _sum(usages: Iterable[Usage]) -> Usage:
    """Add usages up; one that is unknown makes the sum unknown."""
    every = list(usages)
    return Usage(
        cost_micro_usd=sum(each.cost_micro_usd for each in every),
        known=all(each.known for each in every),
        input_tokens=sum(each.input_tokens for each in every),
        output_tokens=sum(each.output_tokens for each in every),
        cached_tokens=sum(each.cached_tokens for each in every),
        turns=sum(each.turns for each in every),
        unpriced=tuple(dict.fromkeys(model for each in every for model in each.unpriced)),
    )


def _encodable(text: str) -> str:
    """Show what no UTF-8 can hold (half a character of a file name, or of an agent's JSON) by its number."""
    return text.encode("utf-8", "backslashreplace").decode()
