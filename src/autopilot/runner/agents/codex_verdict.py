"""Decides what the end of a Codex process means.

Must not trust one sign alone: Codex tells failures as text only, and a failed command ends in 0.
What is not recognised is a failure of the agent, with its words. The matrix is in docs/agents/codex.md.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.runner.agents.ends import (
    BILLING,
    LAUNCHER,
    NO_RESULT,
    RATE_LIMITED,
    SERVICE_DOWN,
    TOO_LONG,
    USAGE_LIMIT,
    Found,
    Judged,
    ended,
    finished,
    no_such_model,
    not_signed_in,
    unreachable,
    without_result,
)
from autopilot.runner.agents.refused_host import refused_by_us
from autopilot.runner.agents.status import sorted_out
from autopilot.schemas.run import Outcome
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import AgentReport, Ending
    from autopilot.runner.agents.codex_stream import CodexStream
    from autopilot.runner.agents.complaint import Row

_SIGN_IN = "set CODEX_API_KEY (or CODEX_ACCESS_TOKEN of a subscription) for the daemon; runs see no ~/.codex"
_NETWORK = "no connection to the model's service; may the agent reach its host?"
_UPDATE = "update it: npm install -g @openai/codex@latest"

_NO_SIGN_IN, _NO_MODEL = not_signed_in(_SIGN_IN), no_such_model("`codex debug models` lists")
_STATUS = re.compile(
    r"(?:reconnecting\.\.\. \d+/\d+ \()?(?:unexpected|exceeded retry limit, last) status:? (\d{3})\b",
    re.IGNORECASE,
)
_TOO_LONG: Row = (re.compile(r"context.{0,10}(window|length)|context_length_exceeded"), TOO_LONG)
_OF_REQUEST: tuple[Row, ...] = (
    (re.compile(r"model.{0,60}(does not exist|not supported)|model_not_found"), _NO_MODEL),
    _TOO_LONG,
)
# Where no status is told. First match wins. Source: recorded streams; docs/agents/codex.md.
_WORDS: tuple[Row, ...] = (
    (re.compile(r"hit your usage limit|usage_limit_reached"), USAGE_LIMIT),
    (re.compile(r"quota exceeded|insufficient_quota|billing|out of credits"), BILLING),
    (
        re.compile(r"unauthori[sz]ed|not logged in|missing environment variable|api key"),
        _NO_SIGN_IN,
    ),
    (
        re.compile(r"model.{0,60}(not found|does not exist|not supported)|model_not_found"),
        _NO_MODEL,
    ),
    _TOO_LONG,
    (re.compile(r"too many requests|rate limit"), RATE_LIMITED),
    (re.compile(r"high demand|overloaded|internal server error"), SERVICE_DOWN),
    (
        re.compile(
            r"stream disconnected|connection failed|error sending request|waiting for network|timed out"
        ),
        unreachable(_NETWORK),
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
        "agent-usage-limit-weekly",
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
    """Give the report of a process that has ended, or that we stopped because it must not go on."""
    facts = stream.facts
    judged = _judged(stream, ending)
    is_whole = judged.outcome is None or judged.code in _USED_NOTHING
    model = next((note for note in facts.notes if note.startswith("Model metadata")), None)
    return ended(
        judged,
        usage=stream.usage(is_whole=is_whole),
        lines=stream.lines,
        said=facts.last_text,
        notes=(model,),
    )


def _judged(stream: CodexStream, ending: Ending) -> Judged:
    facts = stream.facts
    if facts.hopeless:
        outcome, message, hint = _HOPELESS[facts.hopeless]
        return Judged(outcome, facts.hopeless, message, hint)
    if facts.is_complete and not (facts.failure and not ending.is_clean):
        return finished(ending)
    found = _found(stream, ending)
    resets = resets_ms(facts.failure) if found.outcome is Outcome.USAGE_LIMIT else None
    # A date stands there only when the window opens on another day: it is the long one.
    code = found.code if resets is None else "agent-usage-limit-weekly"
    said = one_line(facts.failure) or one_line(ending.tail) or one_line(facts.last_prose) or "it said nothing"
    message = f"Codex: {said}" if facts.failure else f"Codex ended ({ending}) without a result: {said}"
    return found._replace(code=code).told(message)._replace(resets_ms=resets)


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


def _found(stream: CodexStream, ending: Ending) -> Found:
    if not stream.lines.objects:
        return _without_event(stream, ending)
    failure = stream.facts.failure
    if not failure:
        return NO_RESULT
    told = _STATUS.match(failure)
    status = int(told[1]) if told else 0
    return refused_by_us(failure, status) or sorted_out(
        status,
        failure,
        _WORDS,
        of_request=_OF_REQUEST,
        no_sign_in=_NO_SIGN_IN,
        no_model=_NO_MODEL,
    )


def _without_event(stream: CodexStream, ending: Ending) -> Found:
    if ending.is_not_found:
        return without_result(stream.lines, ending, install=LAUNCHER)
    if "unknown configuration field" in ending.tail or "error loading config" in ending.tail.lower():
        return Found(Outcome.CONFIGURATION, "agent-profile-refused", _UPDATE)
    if stream.lines.damaged:
        hint = "is the program in the agent's argv Codex? It must know exec --json"
        return Found(Outcome.AGENT_FAILED, "agent-output-not-json", hint)
    return without_result(stream.lines, ending, install=LAUNCHER)
