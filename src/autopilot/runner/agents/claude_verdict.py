"""Decides what the end of a Claude Code process means.

Must not trust one sign alone: an exit code of 0 without a result is a failure, a result that says `success`
may hold an error, and a good result followed by a bad exit is good work. The outcome matrix with its
measurements is in docs/agents/claude.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.runner.agents.adapter import AgentReport
from autopilot.runner.agents.numbers import text
from autopilot.runner.agents.questions import questions_in
from autopilot.runner.agents.refused_host import refused_by_us
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from autopilot.runner.agents.adapter import Ending
    from autopilot.runner.agents.claude_stream import ClaudeStream

_SIGN_IN = (
    "set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (claude setup-token) for the daemon; a login of your "
    "own is not seen: runs have a configuration folder of their own"
)
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
_UNAUTHORIZED = (401, 403)
_NOT_FOUND = 404
_TOO_MANY = 429
_SERVER_ERROR = 500

Verdict = tuple[Outcome, str, str]


def judge(stream: ClaudeStream, ending: Ending) -> AgentReport:
    """Give the report of a process that ended by itself."""
    result = stream.facts.result
    if result is None:
        outcome, code, hint = _without_result(stream, ending)
        said = one_line(ending.tail) or one_line(stream.facts.last_prose) or "it said nothing"
        message = f"Claude Code ended ({ending}) without a result: {said}"
        return _report(stream, ending, outcome=outcome, code=code, message=message, hint=hint)
    if not _is_error(result):
        message = "the agent came to its end"
        return _report(stream, ending, outcome=None, code="agent-finished", message=message)
    outcome, code, hint = _with_error(stream, result)
    return _report(stream, ending, outcome=outcome, code=code, message=_said(result), hint=hint)


def give_up(stream: ClaudeStream, code: str) -> AgentReport:
    """Give the report of a process that we stopped because it could not succeed."""
    outcome, message, hint = _HOPELESS[code]
    limit = stream.facts.limit
    return AgentReport(
        outcome=outcome,
        code=_of_window(stream, code) if outcome is Outcome.USAGE_LIMIT else code,
        message=message,
        hint=hint,
        usage=stream.usage(),
        resets_ms=limit.resets_ms if limit and outcome is Outcome.USAGE_LIMIT else None,
        warnings=_warnings(stream),
    )


def _report(
    stream: ClaudeStream, ending: Ending, *, outcome: Outcome | None, code: str, message: str, hint: str = ""
) -> AgentReport:
    result = stream.facts.result or {}
    final_text = text(result.get("result")) or stream.facts.last_text
    limit = stream.facts.limit
    late = (
        (f"non-zero exit after result ({ending}); the work is kept and the gates decide",)
        if outcome is None and not ending.is_clean
        else ()
    )
    return AgentReport(
        outcome=outcome,
        code=code,
        message=message,
        hint=hint,
        usage=stream.usage(),
        questions=questions_in(final_text) if outcome is None else (),
        denials=tuple(stream.facts.denials.values()),
        resets_ms=limit.resets_ms if limit and outcome is Outcome.USAGE_LIMIT else None,
        final_text=final_text,
        warnings=(*late, *_warnings(stream)),
    )


def _warnings(stream: ClaudeStream) -> tuple[str, ...]:
    unknown = ", ".join(sorted(stream.facts.unknown))
    notes = (stream.lines.note(), f"unknown event types: {unknown}" if unknown else None)
    return tuple(note for note in notes if note)


def _is_error(result: Mapping[str, Any]) -> bool:
    return bool(result.get("is_error")) or text(result.get("subtype")).startswith("error")


def _said(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    listed = "; ".join(text(error) for error in errors) if isinstance(errors, list) else ""
    said = one_line(text(result.get("result")) or listed)
    return f"Claude Code: {said or text(result.get('subtype')) or 'an error without words'}"


def _without_result(stream: ClaudeStream, ending: Ending) -> Verdict:
    if not stream.lines.objects and ending.is_not_found:
        return Outcome.AGENT_MISSING, "agent-missing", "its launcher cannot start it; is Node.js there?"
    if not stream.lines.objects and stream.lines.damaged:
        hint = "is the program in the agent's argv Claude Code? It must know --output-format stream-json"
        return Outcome.AGENT_FAILED, "agent-output-not-json", hint
    if stream.facts.error == "authentication_failed":
        return Outcome.CREDENTIAL, "agent-not-authenticated", _SIGN_IN
    if not stream.lines.objects and not ending.is_clean:
        hint = "run the same command by hand; agent.stderr.log in the run's folder has all it said"
        return Outcome.AGENT_FAILED, "agent-failed-unknown", hint
    return Outcome.AGENT_FAILED, "agent-no-result", "the whole stream is in agent.log in the run's folder"


def _with_error(stream: ClaudeStream, result: Mapping[str, Any]) -> Verdict:
    match text(result.get("subtype")):
        case "error_max_budget_usd":
            return Outcome.OVER_CEILING, "run-ceiling", "raise run_ceiling_usd, or make the ticket smaller"
        case "error_max_turns":
            return Outcome.AGENT_FAILED, "agent-max-turns", "make the ticket smaller"
    status = result.get("api_error_status")
    status = status if isinstance(status, int) else None
    return (
        refused_by_us(_said(result))
        or _limit_verdict(stream, result)
        or _account_verdict(stream.facts.error, status)
        or _service_verdict(stream.facts.error, result, status)
        or (Outcome.AGENT_FAILED, "agent-error", "")
    )


def _limit_verdict(stream: ClaudeStream, result: Mapping[str, Any]) -> Verdict | None:
    limit = stream.facts.limit
    is_window = limit is not None and limit.is_refused and limit.resets_ms is not None
    if is_window or result.get("api_error") == "usage_limit_reached":
        code = _of_window(stream, "agent-usage-limit")
        return Outcome.USAGE_LIMIT, code, "it goes on by itself when the window opens again"
    return None


def _of_window(stream: ClaudeStream, code: str) -> str:
    """Say so where it is the weekly window, which may open days from now: other times are not believed."""
    limit = stream.facts.limit
    return f"{code}-weekly" if limit is not None and limit.window.startswith("seven_day") else code


def _account_verdict(error: str, status: int | None) -> Verdict | None:
    if error == "authentication_failed" or status in _UNAUTHORIZED:
        return Outcome.CREDENTIAL, "agent-not-authenticated", _SIGN_IN
    if error == "billing_error":
        return Outcome.CREDENTIAL, "agent-billing", "add credit to the account, then resume"
    if error == "model_not_found" or status == _NOT_FOUND:
        return Outcome.CONFIGURATION, "agent-model-unknown", "set `model` of the agent to one the account has"
    return None


def _service_verdict(error: str, result: Mapping[str, Any], status: int | None) -> Verdict | None:
    if result.get("terminal_reason") == "prompt_too_long":
        return Outcome.AGENT_FAILED, "agent-prompt-too-long", "make the ticket smaller"
    if error == "rate_limit" or status == _TOO_MANY:
        return Outcome.AGENT_FAILED, "agent-rate-limited", "the service asks for fewer requests"
    if status is not None and status >= _SERVER_ERROR:
        return Outcome.AGENT_FAILED, "agent-service-down", "the service is overloaded or broken"
    if error == "server_error" or result.get("api_error") == "connection_failed":
        return Outcome.AGENT_FAILED, "agent-unreachable", "no connection to the model's service"
    return None
