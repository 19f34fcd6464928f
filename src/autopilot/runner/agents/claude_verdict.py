"""Decides what the end of a Claude Code process means.

Must not trust one sign alone: an exit code of 0 without a result is a failure, a result that says `success`
may hold an error, and a good result followed by a bad exit is good work. The outcome matrix with its
measurements is in docs/agents/claude.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.runner.agents.ends import (
    BILLING,
    ERROR,
    LAUNCHER,
    RATE_LIMITED,
    SMALLER,
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
from autopilot.runner.agents.numbers import count, text
from autopilot.runner.agents.refused_host import refused_by_us
from autopilot.runner.agents.status import OF_THE_REQUEST, of_status
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from autopilot.runner.agents.adapter import AgentReport, Ending
    from autopilot.runner.agents.claude_stream import ClaudeStream

_SIGN_IN = (
    "set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (claude setup-token) for the daemon; a login of your "
    "own is not seen: runs have a configuration folder of their own"
)
_NO_SIGN_IN = not_signed_in(_SIGN_IN)
_HOPELESS: Mapping[str, tuple[Outcome, str, str]] = {
    "agent-not-authenticated": (Outcome.CREDENTIAL, "Claude Code's key or login is not accepted", _SIGN_IN),
    "agent-overage": (
        Outcome.USAGE_LIMIT,
        "the subscription's window is used up, and Claude Code went on at extra cost: it was stopped",
        'it goes on by itself when the window opens again; for extra usage set billing = "metered"',
    ),
    "agent-hooks-ignored": (
        Outcome.CONFIGURATION,
        "Claude Code did not ask the guard at its start: it was stopped before its first request",
        "update it; an organisation's managed settings must not turn hooks off (disableAllHooks)",
    ),
}
_NO_MODEL = no_such_model("the account has")
_TOO_MANY = 429


def judge(stream: ClaudeStream, ending: Ending) -> AgentReport:
    """Give the report of a process that has ended, or that we stopped because it could not succeed."""
    facts = stream.facts
    said = text((facts.result or {}).get("result")) or facts.last_text
    judged = _judged(stream, ending)
    if judged.outcome is Outcome.USAGE_LIMIT and facts.limit is not None:
        judged = judged._replace(resets_ms=facts.limit.resets_ms)
    return ended(judged, usage=stream.usage(), lines=stream.lines, said=said, denials=facts.denials.values())


def _judged(stream: ClaudeStream, ending: Ending) -> Judged:
    facts = stream.facts
    if facts.hopeless:
        outcome, message, hint = _HOPELESS[facts.hopeless]
        code = facts.hopeless if outcome is not Outcome.USAGE_LIMIT else _of_window(stream, facts.hopeless)
        return Judged(outcome, code, message, hint)
    if facts.result is None:
        found = _without_result(stream, ending)
        said = one_line(ending.tail) or one_line(facts.last_prose) or "it said nothing"
        message = f"Claude Code ended ({ending}) without a result: {said}"
        return found.told(message)
    if not _is_error(facts.result):
        return finished(ending)
    return _with_error(stream, facts.result).told(_said(facts.result))


def _is_error(result: Mapping[str, Any]) -> bool:
    return result.get("is_error", False) is not False or result.get("subtype") != "success"


def _said(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    listed = "; ".join(text(error) for error in errors) if isinstance(errors, list) else ""
    said = one_line(text(result.get("result")) or listed)
    return f"Claude Code: {said or text(result.get('subtype')) or 'an error without words'}"


def _without_result(stream: ClaudeStream, ending: Ending) -> Found:
    is_silent = not stream.lines.objects
    if is_silent and stream.lines.damaged and not ending.is_not_found:
        hint = "is the program in the agent's argv Claude Code? It must know --output-format stream-json"
        return Found(Outcome.AGENT_FAILED, "agent-output-not-json", hint)
    if stream.facts.error == "authentication_failed":
        return _NO_SIGN_IN
    return without_result(stream.lines, ending, install=LAUNCHER)


def _with_error(stream: ClaudeStream, result: Mapping[str, Any]) -> Found:
    match text(result.get("subtype")):
        case "error_max_budget_usd":
            hint = "raise run_ceiling_usd, or make the ticket smaller"
            return Found(Outcome.OVER_CEILING, "run-ceiling", hint)
        case "error_max_turns":
            return Found(Outcome.AGENT_FAILED, "agent-max-turns", SMALLER)
    status = count(result.get("api_error_status"))
    refused = refused_by_us(_said(result), status)
    if refused is not None:
        return refused
    if status in {0, _TOO_MANY} and (limit := _limit_verdict(stream, result)):
        return limit
    if status and status not in OF_THE_REQUEST:
        return of_status(status, no_sign_in=_NO_SIGN_IN, no_model=_NO_MODEL)
    return _of_request(stream.facts.error, result) or (ERROR if status else _of_words(stream, result))


def _limit_verdict(stream: ClaudeStream, result: Mapping[str, Any]) -> Found | None:
    limit = stream.facts.limit
    is_window = limit is not None and limit.is_refused and limit.resets_ms is not None
    if is_window or result.get("api_error") == "usage_limit_reached":
        return USAGE_LIMIT._replace(code=_of_window(stream, USAGE_LIMIT.code))
    return None


def _of_window(stream: ClaudeStream, code: str) -> str:
    """Say so where it is the weekly window, which may open days from now: other times are not believed."""
    limit = stream.facts.limit
    return f"{code}-weekly" if limit is not None and limit.window.startswith("seven_day") else code


def _of_request(error: str, result: Mapping[str, Any]) -> Found | None:
    if error == "billing_error":
        return BILLING
    return TOO_LONG if result.get("terminal_reason") == "prompt_too_long" else None


def _of_words(stream: ClaudeStream, result: Mapping[str, Any]) -> Found:
    """Sort by the client's own name of the error, which may be an earlier one: no status is told."""
    match stream.facts.error:
        case "authentication_failed":
            return _NO_SIGN_IN
        case "model_not_found":
            return _NO_MODEL
        case "rate_limit":
            return RATE_LIMITED
    if stream.facts.error == "server_error" or result.get("api_error") == "connection_failed":
        return unreachable("no connection to the model's service")
    return ERROR
