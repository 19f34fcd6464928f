"""Runs one agent process in the worktree, under every limit, and tells what it says.

Must not judge the work: that is the gates'. The agent's HOME is private, its environment made from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autopilot.config.environ import current, secrets_among
from autopilot.config.plain import one_line, plain
from autopilot.runner.agents.adapter import AgentReport, Ending
from autopilot.runner.agents.belongings import lay_out
from autopilot.runner.agents.events import Acted, Asked, Hopeless, Limited, Spent, Spoke, UsedTool
from autopilot.runner.agents.registry import new_agent
from autopilot.runner.failure import RunFailure
from autopilot.runner.sandbox.bounds import RESOURCE_LIMIT
from autopilot.runner.sentry import BYPASSED, bypassed
from autopilot.runner.shop import stopped
from autopilot.runner.surroundings import Surroundings
from autopilot.runner.watch import Watch
from autopilot.runner.way_of_agent import way_of_agent
from autopilot.schemas.errors import CeilingError
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome
from autopilot.schemas.units import format_usd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.proc import Exit
    from autopilot.runner.agents.adapter import Agent, Launch, Order
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.runner.meter import Meter
    from autopilot.runner.sentry import Sentry
    from autopilot.runner.shop import Shop
    from autopilot.runner.way_out import WayOut
    from autopilot.runner.worktree import Workspace
    from autopilot.schemas.errors import AutopilotError
    from autopilot.schemas.run import PaidPhase

_CEILING, _BUDGET, _HOPELESS = "ceiling", "phase-budget", "hopeless"
_SPOKEN_CHARS = 500
_MAX_SPOKEN = 2000
_SPEND_PAUSE_S = 0.5
_HOOK_S = 30.0
_TIMEOUTS: Mapping[str, str] = {
    "wall": "the run took longer than it may",
    "silence": "the agent said nothing for too long",
    "no-progress": "the agent changed nothing and used no tool for too long",
}


def play(shop: Shop, order: Order, workspace: Workspace, guard: Sentry | None = None) -> AgentReport:
    """Run the agent to its end and give its report; its usage is in the notebook, whatever happens.

    Raises:
        RunFailure: it could not be started, or its guard answers wrongly, or it was stopped, also because its
            phase has used what it may.
        CeilingError: it was stopped because the run has spent what it may.
        ConfigError: its configuration cannot work.
        SandboxError: it was never started, for its sandbox did not come up.
        TransientError: it failed, on a disk without room.
    """
    agent = new_agent(order.agent)
    command = guard.command if guard is not None else ()
    with way_of_agent(shop, order.agent) as way:
        sealed = replace(order, guard=command, is_confined=shop.sandbox.kind != "none", broker=way.broker)
        launch = agent.launch(sealed)
        lay_out(launch, order.private)
        socket = guard.socket if guard is not None else None
        around = Surroundings.of(shop, order, launch, workspace, way=way, guard_socket=socket)
        if guard is not None:
            guard.prove(lambda event: _hook(shop, guard, around, event))
        shop.notebook.begin_process(order.phase)
        ear = _Ear(shop, agent, guard)
        ended = _run(shop, order, launch, around.through(way), way=way, ear=ear)
    return _Close(shop, agent, ear, order, way).report(ended)


def _run(shop: Shop, order: Order, launch: Launch, around: Surroundings, *, way: WayOut, ear: _Ear) -> Exit:
    """Run the agent's process to its end, or until a reason to stop it."""
    log, limits = shop.spec.run_dir / f"agent-{order.round_no}.log", shop.spec.limits
    watch = Watch(shop.spec.worktree, clock=shop.clock, no_progress_s=limits.no_progress_s, stop=shop.stop)
    shop.tell(Event.AGENT_STARTED, agent=order.agent.name, kind=order.agent.kind, round=order.round_no)
    printed = sum(each.stat().st_size for each in shop.spec.run_dir.glob("agent-*.log"))
    return around.run(
        way.argv(launch.argv),
        output=log,
        stderr=log.with_suffix(".stderr.log"),
        stdin=launch.stdin,
        clock=shop.clock,
        wall_s=max(0.0, shop.left_s()),
        silence_s=limits.silence_s,
        grace_s=limits.kill_grace_s,
        max_output_bytes=max(1, limits.output_bytes - printed),
        on_output=lambda chunk: ear.hear(chunk, watch),
        should_stop=way.watched(watch.should_stop),
        # What stands for a credential is none of anybody's either, as long as the process lives.
        secrets=(*secrets_among(launch.passes, around.env), *secrets_among(launch.passes, current())),
    )


def _hook(shop: Shop, guard: Sentry, around: Surroundings, event: bytes) -> Exit:
    """Start the guard's command as the agent will, with one event."""
    return around.run(
        guard.command,
        output=shop.spec.run_dir / "agent-hook.log",
        stdin=event,
        clock=shop.clock,
        wall_s=_HOOK_S,
        should_stop=shop.stop,
    )


class _Ear:
    """Hears the agent: turns its events into ours, and into a reason to stop it."""

    def __init__(self, shop: Shop, agent: Agent, guard: Sentry | None) -> None:
        self._shop, self._agent, self.guard = shop, agent, guard
        self._spoken = 0
        self._told: int | None = None
        self._told_s = 0.0

    def hear(self, chunk: bytes, watch: Watch) -> str | None:
        reasons = [self._take(event, watch) for event in self._agent.feed(chunk)]
        if self.guard is not None:
            self.guard.tell()
        return next(filter(None, reasons), None)

    def _take(self, event: AgentEvent, watch: Watch) -> str | None:
        match event:
            case Spent():
                return self._spent(event)
            case UsedTool(tool):
                watch.progressed()
                if tool:
                    self._speak(Event.AGENT_USED_TOOL, tool=tool[:_SPOKEN_CHARS])
            case Acted() if self.guard is not None:
                return self.guard.acted(event)
            case Spoke(text):
                self._speak(Event.AGENT_SPOKE, text=plain(text[: 4 * _SPOKEN_CHARS], max_chars=_SPOKEN_CHARS))
            case Asked(question):
                self._speak(Event.AGENT_ASKED, question=question)
            case Limited(is_refused, resets_ms, window):
                self._speak(Event.AGENT_LIMITED, refused=is_refused, resets_ms=resets_ms, window=window)
            case Hopeless():
                return _HOPELESS
        return None

    def _spent(self, event: Spent) -> str | None:
        notebook = self._shop.notebook
        if event.cost_micro_usd is not None:
            notebook.meter = notebook.meter.read(event.cost_micro_usd, is_priced=event.is_priced)
            if self._shop.clock.monotonic_s() - self._told_s >= _SPEND_PAUSE_S:
                self.tell_spend()
        if notebook.meter.is_over:
            return _CEILING
        used = notebook.read_tokens(event.input_tokens + event.output_tokens)
        return _BUDGET if used.is_over else None

    def tell_spend(self) -> None:
        """Tell the run's spend so far, if it has changed."""
        total = self._shop.notebook.meter.total_micro_usd
        if total != self._told:
            self._told, self._told_s = total, self._shop.clock.monotonic_s()
            known = self._shop.notebook.meter.is_known
            self._shop.tell(Event.AGENT_SPENT, cost_micro_usd=total, known=known)

    def _speak(self, event: Event, **facts: object) -> None:
        """Tell at most so many events of a process: an agent may talk without end."""
        self._spoken += 1
        if self._spoken <= _MAX_SPOKEN:
            self._shop.tell(event, **facts)


@dataclass(frozen=True, slots=True)
class _Close:
    """The end of a process: usage into the notebook, then a report or a failure."""

    shop: Shop
    agent: Agent
    ear: _Ear
    order: Order
    way: WayOut

    def report(self, ended: Exit) -> AgentReport:
        if ended.spawn_error:
            hint = "install it where the daemon's PATH finds it, or set argv of the agent"
            raise RunFailure(Outcome.AGENT_MISSING, "agent-missing", ended.spawn_error, hint=hint)
        if ended.stopped and ended.stopped != _HOPELESS:
            self.shop.notebook.take_usage(self.agent.usage())
            self._tell_end(ended, ended.stopped)
            raise self._why(ended.stopped, ended.limit)
        if self.ear.guard is not None and self.ear.guard.unasked:  # heard when it had ended by itself already
            self.shop.notebook.take_usage(self.agent.usage())
            self._tell_end(ended, BYPASSED)
            raise bypassed(self.ear.guard.unasked)
        report = self.agent.finish(Ending(ended.code, ended.signal, plain(ended.stderr_tail)))
        guarded = self.ear.guard.denials() if self.ear.guard is not None else ()
        self.shop.notebook.take(report, guarded=guarded)
        self._tell_end(ended, report.code)
        if report.outcome is not None:
            if report.outcome is Outcome.AGENT_FAILED:
                self.shop.require_room(report.message)
            raise RunFailure(report.outcome, report.code, report.message, hint=report.hint)
        return report

    def _tell_end(self, ended: Exit, code: str) -> None:
        self.ear.tell_spend()
        if self.ear.guard is not None:
            self.ear.guard.tell()
        if ended.survivors:
            self.shop.notebook.warn([f"{len(ended.survivors)} processes of the agent could not be ended"])
        facts = {
            "code": code,
            "exit": ended.code,
            "signal": ended.signal,
            "duration_s": round(ended.duration_s, 3),
            # The client's own count beside ours: what else was asked with its stand-in shows here.
            **({"turns": self.agent.usage().turns, **calls} if (calls := self.way.calls()) else {}),
        }
        self.shop.tell(Event.AGENT_FINISHED, round=self.order.round_no, **facts)

    def _why(self, reason: str, limit: str) -> AutopilotError:
        limits = self.shop.spec.limits
        if reason in _TIMEOUTS:
            allowed_s = {"wall": limits.wall_s, "silence": limits.silence_s}.get(reason, limits.no_progress_s)
            what = f"{_TIMEOUTS[reason]} ({allowed_s:g} s)"
            hint = "its last words are in the run's folder; make the ticket smaller, or raise the limit"
            return RunFailure(Outcome.TIMED_OUT, f"agent-{reason}", what, hint=hint)
        if reason == _CEILING:
            self.shop.tell(Event.CEILING_REACHED, limit_micro_usd=limits.run_ceiling_micro_usd)
            return over_ceiling(self.shop.notebook.meter)
        if reason == _BUDGET:
            return over_budget(self.shop, self.order.phase)
        if reason == RESOURCE_LIMIT:
            what = f"the agent, with all it started, used {limit} and was ended"
            hint = "make the ticket smaller, or raise that limit"
            return RunFailure(Outcome.AGENT_FAILED, RESOURCE_LIMIT, what, hint=hint)
        if reason == "output-ceiling":
            what = f"the agent printed more than {limits.output_bytes} bytes in this run"
            return RunFailure(Outcome.AGENT_FAILED, "agent-output-ceiling", what, hint="see the agent's log")
        if reason == BYPASSED:
            return bypassed(self.ear.guard.unasked if self.ear.guard is not None else "")
        return stopped(one_line(reason))


def over_ceiling(meter: Meter) -> CeilingError:
    """Build the error of a run that has spent what it may, in micro-dollars."""
    limit, spent = meter.ceiling_micro_usd or 0, meter.total_micro_usd
    what = f"the run has reached its cost ceiling: {format_usd(spent)} of {format_usd(limit)}"
    hint = "raise run_ceiling_usd, or make the ticket smaller, then resume"
    return CeilingError("run-ceiling", what, limit=limit, spent=spent, hint=hint)


def over_budget(shop: Shop, phase: PaidPhase) -> RunFailure:
    """Tell of a phase that has used more tokens than it may, and build the failure."""
    meter = shop.notebook.tokens(phase)
    budget = meter.budget or 0
    shop.tell(Event.CEILING_REACHED, phase=phase, limit_tokens=budget, used_tokens=meter.total)
    what = f"the phase {phase} has passed its token budget: {meter.total} of {budget} tokens"
    larger = f"{phase}_tokens in [phase_budgets], for instance to {2 * budget}"
    hint = f"make the ticket smaller, or raise {larger}; then: autopilot resume {shop.spec.ticket_id}"
    return RunFailure(Outcome.OVER_BUDGET, "phase-budget", what, hint=hint)
