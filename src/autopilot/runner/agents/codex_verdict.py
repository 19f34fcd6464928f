"""Decides what the end of a Codex process means.

Must not trust one sign alone: Codex tells failures as text only, and a failed command ends in 0.
What is not recognised is a failure of the agent, with its words. The matrix is in docs/agents/codex.md.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.runner.agents.adapter import AgentReport
from autopilot.runner.agents.complaint import Row, complaint
from autopilot.runner.agents.questions import questions_in
from autopilot.runner.agents.refused_host import refused_by_us
from autopilot.schemas.run import Outcome
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import Ending
    from autopilot.runner.agents.codex_stream import CodexStream

_SIGN_IN = "set CODEX_API_KEY (or CODEX_ACCESS_TOKEN of a subscription) for the daemon; runs see no ~/.codex"
_BILLING = "add credit to the account, then resume"
_WAIT = "it goes on by itself when the window opens again"
_SERVICE = "the service is overloaded or broken"
_NETWORK = "no connection to the model's service; may the agent reach its host?"
_MODEL = "set `model` of the agent to one that `codex debug models` lists"
_SMALLER = "make the ticket smaller"
_UPDATE = "update it: npm install -g @openai/codex@latest"

# First match wins. Source: recorded streams; docs/agents/codex.md.
_WORDS: tuple[Row, ...] = (
    (
        re.compile(r"hit your usage limit|usage_limit_reached"),
        Outcome.USAGE_LIMIT,
        "agent-usage-limit",
        _WAIT,
    ),
    (
        re.compile(r"quota exceeded|insufficient_quota|billing|out of credits"),
        *(Outcome.CREDENTIAL, "agent-billing", _BILLING),
    ),
    (
        re.compile(r"\b40[13]\b|unauthori[sz]ed|not logged in|missing environment variable|api key"),
        *(Outcome.CREDENTIAL, "agent-not-authenticated", _SIGN_IN),
    ),
    (
        re.compile(r"model.{0,60}(not found|does not exist|not supported)|model_not_found|\b404\b"),
        *(Outcome.CONFIGURATION, "agent-model-unknown", _MODEL),
    ),
    (
        re.compile(r"context.{0,10}(window|length)|context_length_exceeded"),
        *(Outcome.AGENT_FAILED, "agent-prompt-too-long", _SMALLER),
    ),
    (
        re.compile(r"\b429\b|too many requests|rate limit"),
        *(Outcome.AGENT_FAILED, "agent-rate-limited", "the service asks for fewer requests"),
    ),
    (
        re.compile(r"\b5\d\d\b|high demand|overloaded|internal server error"),
        *(Outcome.AGENT_FAILED, "agent-service-down", _SERVICE),
    ),
    (
        re.compile(
            r"stream disconnected|connection failed|error sending request|waiting for network|timed out"
        ),
        *(Outcome.AGENT_FAILED, "agent-unreachable", _NETWORK),
    ),
)
_HOPELESS: Mapping[str, tuple[Outcome, str, str]] = {
    "agent-other-shell": (
        Outcome.AGENT_FAILED,
        "Codex began a command with another shell than bash, which the guard had not judged: it was stopped",
        "the ticket or the repository may have led it there; look at the agent's log before you resume",
    ),
}
# A turn that failed for one of these had no answer that is not in the record: nothing unknown was used.
_USED_NOTHING = frozenset(
    {
        "agent-host-refused",
        "agent-usage-limit",
        "agent-billing",
        "agent-not-authenticated",
        "agent-model-unknown",
        "agent-rate-limited",
    }
)
_AGAIN_AT = re.compile(
    r"try again at (?:(?P<month>[A-Z][a-z]{2}) (?P<day>\d{1,2})(?:st|nd|rd|th), (?P<year>\d{4}) )?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2}) (?P<half>[AP]M)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HALF_DAY_H = 12


def judge(stream: CodexStream, ending: Ending) -> AgentReport:
    """Give the report of a process that ended by itself."""
    facts = stream.facts
    if facts.is_complete and not (facts.failure and not ending.is_clean):
        return _done(stream, ending)
    outcome, code, hint = _verdict(stream, ending)
    known = stream.usage(is_known=code in _USED_NOTHING)
    resets = resets_ms(facts.failure) if outcome is Outcome.USAGE_LIMIT else None
    if resets is not None:
        # A date stands there only when the window opens on another day: it is the long one.
        code = "agent-usage-limit-weekly"
    said = one_line(facts.failure) or one_line(ending.tail) or one_line(facts.last_prose) or "it said nothing"
    return AgentReport(
        outcome=outcome,
        code=code,
        message=f"Codex: {said}" if facts.failure else f"Codex ended ({ending}) without a result: {said}",
        hint=hint,
        usage=known,
        resets_ms=resets,
        final_text=facts.last_text,
        warnings=_warnings(stream),
    )


def give_up(stream: CodexStream, code: str) -> AgentReport:
    """Give the report of a process that we stopped because it must not go on."""
    outcome, message, hint = _HOPELESS[code]
    usage = stream.usage(is_known=False)
    return AgentReport(
        outcome=outcome, code=code, message=message, hint=hint, usage=usage, warnings=_warnings(stream)
    )


def resets_ms(words: str) -> int | None:
    """Read when a usage limit ends, where a whole date is told.

    It is told in the machine's zone, as is ours. A time without a date is not used: it may be of tomorrow.
    """
    match = _AGAIN_AT.search(words)
    if match is None or match["month"] not in _MONTHS:
        return None
    hour = int(match["hour"]) % _HALF_DAY_H + (_HALF_DAY_H if match["half"] == "PM" else 0)
    try:
        day = int(match["year"]), _MONTHS.index(match["month"]) + 1, int(match["day"])
        at = datetime(*day, hour, int(match["minute"]))  # noqa: DTZ001 - told in this machine's zone
        return int(at.timestamp()) * MS_PER_S
    except (ValueError, OverflowError, OSError):
        return None


def _done(stream: CodexStream, ending: Ending) -> AgentReport:
    late = f"non-zero exit after result ({ending}); the work is kept and the gates decide"
    return AgentReport(
        outcome=None,
        code="agent-finished",
        message="the agent came to its end",
        usage=stream.usage(is_known=True),
        questions=questions_in(stream.facts.last_text),
        final_text=stream.facts.last_text,
        warnings=(*(() if ending.is_clean else (late,)), *_warnings(stream)),
    )


def _verdict(stream: CodexStream, ending: Ending) -> tuple[Outcome, str, str]:
    if not stream.lines.objects:
        return _without_event(stream, ending)
    if refused := refused_by_us(stream.facts.failure):
        return refused
    if found := complaint(stream.facts.failure, _WORDS):
        return found
    if stream.facts.failure:
        return (
            Outcome.AGENT_FAILED,
            "agent-error",
            "the whole stream is in the agent's log in the run's folder",
        )
    return (
        Outcome.AGENT_FAILED,
        "agent-no-result",
        "the whole stream is in the agent's log in the run's folder",
    )


def _without_event(stream: CodexStream, ending: Ending) -> tuple[Outcome, str, str]:
    if ending.is_not_found:
        return Outcome.AGENT_MISSING, "agent-missing", "its launcher cannot start it; is Node.js there?"
    if "unknown configuration field" in ending.tail or "error loading config" in ending.tail.lower():
        return Outcome.CONFIGURATION, "agent-profile-refused", _UPDATE
    if stream.lines.damaged:
        hint = "is the program in the agent's argv Codex? It must know exec --json"
        return Outcome.AGENT_FAILED, "agent-output-not-json", hint
    hint = "run the same command by hand; the agent's stderr log in the run's folder has all it said"
    return Outcome.AGENT_FAILED, "agent-failed-unknown", hint


def _warnings(stream: CodexStream) -> tuple[str, ...]:
    unknown = ", ".join(sorted(stream.facts.unknown))
    model = next((note for note in stream.facts.notes if note.startswith("Model metadata")), None)
    notes = (stream.lines.note(), f"unknown event types: {unknown}" if unknown else None, model)
    return tuple(note for note in notes if note)
