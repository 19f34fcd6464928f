"""What the ends of agents have in common: what the usual ones are called, what helps, how a report is made.

Must not know a particular agent. A good result that is followed by a bad exit is good work, whoever the agent
is: it had come to its end when its process fell over, and the gates decide in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from autopilot.runner.agents.adapter import AgentReport
from autopilot.runner.agents.questions import questions_in
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.runner.agents.adapter import Ending
    from autopilot.runner.agents.framing import JsonLines
    from autopilot.schemas.run import Usage

KEPT_CHARS = 8000
"""How much of an agent's last words is kept."""
LAUNCHER = "its launcher cannot start it; is Node.js there?"
SMALLER = "make the ticket smaller"
UNREACHABLE = "no whole answer; may it reach its model's host?"
_LOG = "the whole stream is in the agent's log in the run's folder"
_BY_HAND = "run the same command by hand; the agent's stderr log in the run's folder has all it said"


class Found(NamedTuple):
    """What went wrong, and what helps."""

    outcome: Outcome
    code: str
    hint: str

    def told(self, message: str) -> Judged:
        """Say of the end of a process that it means this."""
        return Judged(self.outcome, self.code, message, self.hint)


class Judged(NamedTuple):
    """What the end of a process means. `outcome` is None when the agent came to its end."""

    outcome: Outcome | None
    code: str
    message: str
    hint: str = ""
    warning: str = ""
    resets_ms: int | None = None


BILLING = Found(Outcome.CREDENTIAL, "agent-billing", "add credit to the account, then resume")
USAGE_LIMIT = Found(
    Outcome.USAGE_LIMIT, "agent-usage-limit", "it goes on by itself when the window opens again"
)
RATE_LIMITED = Found(Outcome.AGENT_FAILED, "agent-rate-limited", "the service asks for fewer requests")
SERVICE_DOWN = Found(Outcome.AGENT_FAILED, "agent-service-down", "the service is overloaded or broken")
TOO_LONG = Found(Outcome.AGENT_FAILED, "agent-prompt-too-long", SMALLER)
ERROR = Found(Outcome.AGENT_FAILED, "agent-error", _LOG)
NO_RESULT = Found(Outcome.AGENT_FAILED, "agent-no-result", _LOG)
SILENT = Found(Outcome.AGENT_FAILED, "agent-failed-unknown", _BY_HAND)


def not_signed_in(hint: str) -> Found:
    """Say that its service does not take its sign-in."""
    return Found(Outcome.CREDENTIAL, "agent-not-authenticated", hint)


def no_such_model(which: str = "there is") -> Found:
    """Say that its service does not know the model, and in a few words which it does."""
    hint = f"set `model` of the agent to one that {which}"
    return Found(Outcome.CONFIGURATION, "agent-model-unknown", hint)


def unreachable(hint: str = UNREACHABLE) -> Found:
    """Say that its service gave no answer."""
    return Found(Outcome.AGENT_FAILED, "agent-unreachable", hint)


def without_result(lines: JsonLines, ending: Ending, *, install: str) -> Found:
    """Say what it means that a process ended without a result, and without a word of its own about it.

    Args:
        lines: what came of it.
        ending: how it ended.
        install: what helps where its program cannot be started.
    """
    if ending.is_not_found and not lines.objects:
        return Found(Outcome.AGENT_MISSING, "agent-missing", install)
    return NO_RESULT if lines.objects or ending.is_clean else SILENT


def finished(ending: Ending) -> Judged:
    """Say that the agent came to its end, however its process did."""
    late = f"non-zero exit after result ({ending}); the work is kept and the gates decide"
    message = "the agent came to its end"
    return Judged(None, "agent-finished", message, warning="" if ending.is_clean else late)


def ended(
    judged: Judged,
    *,
    usage: Usage,
    lines: JsonLines,
    said: str = "",
    denials: Iterable[str] = (),
    notes: Iterable[str | None] = (),
) -> AgentReport:
    """Make the report of a process.

    Args:
        judged: what its end means.
        usage: its counters.
        lines: what came of it.
        said: its last words; its questions stand there.
        denials: tools that it was refused.
        notes: what else is worth knowing.
    """
    return AgentReport(
        outcome=judged.outcome,
        code=judged.code,
        message=judged.message,
        hint=judged.hint,
        usage=usage,
        questions=questions_in(said) if judged.outcome is None else (),
        denials=tuple(denials),
        resets_ms=judged.resets_ms,
        final_text=said,
        warnings=tuple(note for note in (judged.warning, *lines.notes(), *notes) if note),
    )
