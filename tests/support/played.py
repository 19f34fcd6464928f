"""What each agent whose stream we read says, and what its ends mean: one row of the matrix for each agent.

What all of them have in common is in `tests/unit/runner/test_agents_matrix.py`; what one has alone is in
its own file there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from autopilot.runner.agents.claude import ClaudeAgent
from autopilot.runner.agents.codex import CodexAgent
from autopilot.runner.agents.copilot import CopilotAgent
from autopilot.runner.agents.gemini import GeminiAgent
from autopilot.runner.agents.opencode import OpencodeAgent
from autopilot.schemas.run import Outcome
from tests.support.captures import NEWEST
from tests.support.playing import Means, Played

_DONE: Final[Means] = (None, "agent-finished")
_FAILED: Final = Outcome.AGENT_FAILED
_NO_KEY: Final[Means] = (Outcome.CREDENTIAL, "agent-not-authenticated")
_NO_MODEL: Final[Means] = (Outcome.CONFIGURATION, "agent-model-unknown")
_NOT_LISTED: Final[Means] = (Outcome.CONFIGURATION, "agent-host-refused")
_LIMITED: Final[Means] = (_FAILED, "agent-rate-limited")
_DOWN: Final[Means] = (_FAILED, "agent-service-down")
_UNREACHED: Final[Means] = (_FAILED, "agent-unreachable")
_NO_RESULT: Final[Means] = (_FAILED, "agent-no-result")
_ERROR: Final[Means] = (_FAILED, "agent-error")
_SILENT: Final[Means] = (_FAILED, "agent-failed-unknown")
_BILLED: Final[Means] = (Outcome.CREDENTIAL, "agent-billing")
_TOO_LONG: Final[Means] = (_FAILED, "agent-prompt-too-long")
_LONG: Final = "x" * 500
_ODD_RESULTS: Final[tuple[dict[str, Any], ...]] = (
    *({}, {"subtype": ["success"]}, {"subtype": "brand_new"}, {"subtype": None}),
    *({"subtype": "success", "is_error": odd} for odd in (None, 0, "false", True)),
)
_ODD_CODES: Final[tuple[Any, ...]] = (1, None, -1, "0", "1", 0.0, 1.0, False, True, {}, 2**70)
_QUOTED: Final = "messages.401 is too big: 404 503, authentication, unauthorized, api key, model x not found"
"""Words of a failure that is about something else."""


def _newest(kind: str, rows: dict[str, Means]) -> dict[tuple[str, str], Means]:
    return {(name, NEWEST[kind]): means for name, means in rows.items()}


_BOTH: Final = ("2.1.197", "2.1.332")
_OF_BOTH: Final[dict[str, Means]] = {
    **dict.fromkeys(("success", "partial", "cut", "background", "two-messages", "resume"), _DONE),
    **dict.fromkeys(("unknown-model", "usage-warning", "denials"), _DONE),
    **dict.fromkeys(("error-429", "plain-429-oauth"), _LIMITED),
    "usage-limit": (Outcome.USAGE_LIMIT, "agent-usage-limit"),
    "error-401": _NO_KEY,
    "budget": (Outcome.OVER_CEILING, "run-ceiling"),
    "bad-resume": _ERROR,
    **dict.fromkeys(("sigint-api", "sigterm-api"), _NO_RESULT),
}
_CLAUDE: Final = Played(
    kind="claude",
    new=ClaudeAgent,
    matrix={
        **{(name, version): means for name, means in _OF_BOTH.items() for version in _BOTH},
        ("sigterm-bash", "2.1.197"): _DONE,
        ("bad-costs", "made"): _DONE,
        ("unknown-types", "made"): _DONE,
        **_newest(
            "claude",
            {
                **dict.fromkeys(("parallel", "hook-block", "error-429-then-ok", "background-term"), _DONE),
                **dict.fromkeys(("bare", "prompts-none"), _DONE),
                "usage-limit-api-key": _LIMITED,
                **dict.fromkeys(("error-529", "error-500"), _DOWN),
                "refused-connection": _UNREACHED,
                **dict.fromkeys(("error-403", "no-key"), _NO_KEY),
                "credit": (Outcome.CREDENTIAL, "agent-billing"),
                "error-404-model": _NO_MODEL,
                "prompt-too-long": (_FAILED, "agent-prompt-too-long"),
                "max-turns": (_FAILED, "agent-max-turns"),
                **dict.fromkeys(("sigterm-bash", "sigkill-bash"), _NO_RESULT),
                **dict.fromkeys(("bad-flag", "no-verbose", "root-skip", "duplicate-session"), _SILENT),
            },
        ),
    },
    last_words=lambda words: ({"type": "result", "subtype": "success", "result": words},),
    errors=tuple(
        (({"type": "result", "is_error": True, "result": words, "api_error_status": status},), 1, means)
        for words, status, means in (
            ("autopilot: host", 403, _NOT_LISTED),
            ("slow", 429, _LIMITED),
            ("down", 529, _DOWN),
            ("autopilot: host", 529, _DOWN),
            (_QUOTED, 400, _ERROR),
            ("unpaid", 402, _BILLED),
            ("Flux is low", None, _ERROR),
            ([], [401], _ERROR),
        )
    ),
    ends=(
        (({"type": "system", "subtype": "init"},), 0, _NO_RESULT),
        *((({"type": "result", **odd, "result": "Done."},), 0, _ERROR) for odd in _ODD_RESULTS),
    ),
    strange=(
        *({"type": "assistant", "message": None}, {"type": "system", "subtype": {"x": 1}}),
        {"type": "assistant", "message": {"content": "text", "usage": 5, "id": []}},
        {"type": "user", "message": {"content": [None, 3, {"type": "tool_result"}]}},
        {"type": "rate_limit_event", "rate_limit_info": "soon"},
        {"type": "result", "modelUsage": [1], "permission_denials": {"a": 1}, "errors": 3},
    ),
    flood=(
        *(
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": f"{n}", "name": _LONG}]}}
            for n in range(2000)
        ),
        *(
            {"type": "system", "subtype": "permission_denied", "tool_use_id": f"{n}", "tool_name": _LONG}
            for n in range(500)
        ),
        {"type": "result", "permission_denials": [{"tool_use_id": f"x{n}"} for n in range(500)]},
    ),
)
_CODEX: Final = Played(
    kind="codex",
    new=CodexAgent,
    matrix=_newest(
        "codex",
        {
            **dict.fromkeys(("command", "patch", "first-turn", "resumed", "outside"), _DONE),
            "usage-limit": (Outcome.USAGE_LIMIT, "agent-usage-limit-weekly"),
            "quota": (Outcome.CREDENTIAL, "agent-billing"),
            **dict.fromkeys(("error-401", "no-key"), _NO_KEY),
            "error-429": _LIMITED,
            "error-500": _DOWN,
            "cut": _UNREACHED,
            **dict.fromkeys(("bad-resume", "bad-flag"), _SILENT),
            "sigterm": _NO_RESULT,
        },
    ),
    last_words=lambda words: (
        {"type": "item.completed", "item": {"type": "agent_message", "text": words}},
        {"type": "turn.completed", "usage": {"input_tokens": "9", "output_tokens": None}},
    ),
    errors=tuple(
        (({"type": "turn.failed", "error": {"message": words}},), 1, means)
        for words, means in (
            ("autopilot: host", _NOT_LISTED),
            ("You've hit your usage limit. Try again later.", (Outcome.USAGE_LIMIT, "agent-usage-limit")),
            ("You’ve hit your usage limit. Try again later.", (Outcome.USAGE_LIMIT, "agent-usage-limit")),
            ("Flux is low", _ERROR),
            ([], _ERROR),
            (f"unexpected status 400 Bad Request: {_QUOTED}", _ERROR),
            ("unexpected status 400 Bad Request: model x is not supported", _NO_MODEL),
            ("unexpected status 413 Too Large: context_length_exceeded", _TOO_LONG),
            (f"unexpected status 503 Service Unavailable: {_QUOTED}", _DOWN),
            (f"exceeded retry limit, last status: 429 Too Many Requests, {_QUOTED}", _LIMITED),
            ("unexpected status 502 Bad Gateway: autopilot: host", _DOWN),
            ("unexpected status 404 Not Found: gone", _NO_MODEL),
            ("unexpected status 402 Payment Required: no", _BILLED),
            ("messages.401 is too big: 404 429 503", _ERROR),
        )
    ),
    ends=((({"type": "turn.started"},), 0, _NO_RESULT),),
    strange=({"type": "item.started", "item": [1]}, {"type": "item.completed", "item": {"type": {}}}),
    flood=(
        *({"type": "item.completed", "item": {"type": f"{n}{_LONG}"}} for n in range(2000)),
        *({"type": "item.completed", "item": {"type": "error", "message": _LONG}} for _ in range(500)),
    ),
    denials_kept=0,
)
_COPILOT: Final = Played(
    kind="copilot",
    new=CopilotAgent,
    matrix=_newest(
        "copilot", {"deeds": _DONE, "error-401": _NO_KEY, "unknown-model": _NO_MODEL, "sigterm": _NO_RESULT}
    ),
    last_words=lambda words: (
        {"type": "assistant.message", "data": {"content": words}},
        {"type": "result", "exitCode": 0},
    ),
    errors=tuple(
        (({"type": "session.error", "data": data}, {"type": "result", "exitCode": 0}), 0, means)
        for data, means in (
            ({"message": "autopilot: host", "statusCode": 403}, _NOT_LISTED),
            ({"message": "slow", "statusCode": 429}, _LIMITED),
            ({"message": "down", "statusCode": 529}, _DOWN),
            ({"message": "Flux is low"}, _ERROR),
            ({"statusCode": [401]}, _ERROR),
            ({"message": _QUOTED, "statusCode": 400}, _ERROR),
            ({"message": "autopilot: host", "statusCode": 502}, _DOWN),
            ({"message": "unpaid", "statusCode": 402}, _BILLED),
        )
    ),
    ends=(
        (({"type": "result"},), 0, _NO_RESULT),
        *((({"type": "result", "exitCode": code},), 0, _NO_RESULT) for code in _ODD_CODES),
    ),
    strange=(
        *({"type": "assistant.message", "data": 1}, {"type": "tool.execution_complete"}),
        {"type": "tool.execution_start", "data": {"toolCallId": {}}},
    ),
    flood=(
        *(
            {"type": "tool.execution_start", "data": {"toolCallId": f"{n}", "toolName": _LONG}}
            for n in range(2000)
        ),
        *({"type": "tool.execution_complete", "data": {"error": {"code": "denied"}}} for _ in range(500)),
    ),
)
_GEMINI: Final = Played(
    kind="gemini",
    new=GeminiAgent,
    matrix=_newest(
        "gemini",
        {
            "deeds": _DONE,
            **dict.fromkeys(("error-401", "error-400-key", "error-403", "no-key"), _NO_KEY),
            "unknown-model": _NO_MODEL,
            "quota": _LIMITED,
            "sigterm": _NO_RESULT,
        },
    ),
    last_words=lambda words: (
        {"type": "message", "role": "assistant", "content": words},
        {"type": "result", "status": "success", "stats": None},
    ),
    errors=tuple(
        (({"type": "result", "status": "error", "error": {"message": words}},), 1, means)
        for words, means in (
            ("autopilot: model.example is not among the hosts", _NOT_LISTED),
            ('[API Error: {"error":{"code":503}}]', _DOWN),
            ("You exceeded your current quota", _LIMITED),
            ("fetch failed sending request", _UNREACHED),
            ("Flux is low", _ERROR),
            ([], _ERROR),
            *(
                (f'[API Error: {{"error":{{"message":"\\"code\\":401 {_QUOTED}","code": {code}}}}}]', means)
                for code, means in (
                    *((400, _ERROR), (403, _NO_KEY), (404, _NO_MODEL), (402, _BILLED)),
                    *((429, _LIMITED), (503, _DOWN)),
                )
            ),
            ('[API Error: {"error":{"code":400,"message":"write: API key not valid"}}]', _ERROR),
            ('[API Error: {"error":{"code":502,"message":"autopilot: host"}}]', _DOWN),
            ('messages.3: "code":401 and "code":503', _ERROR),
        )
    ),
    ends=(
        ((), 41, _NO_KEY),
        (({"type": "init"},), 1, _NO_RESULT),
        *(
            (({"type": "result", "status": odd},), 0, _ERROR)
            for odd in (None, True, ["success"], "Success", "", 0)
        ),
    ),
    strange=(
        *({"type": "message", "role": "assistant"}, {"type": "tool_use", "tool_id": {}, "tool_name": 7}),
        {"type": "tool_result", "tool_id": [], "error": {"type": []}},
        {"type": "result", "stats": {"models": {"m": [1], "n": {"input": -1}}}},
        {"type": "result", "stats": "all", "error": "none"},
    ),
    flood=(
        *({"type": "tool_use", "tool_id": f"{n}", "tool_name": _LONG} for n in range(2000)),
        *({"type": "tool_result", "error": {"type": "tool_not_registered"}} for _ in range(500)),
    ),
)
_RULE: Final = {"status": "error", "error": "The user has specified a rule which prevents you"}
_OPENCODE: Final = Played(
    kind="opencode",
    new=OpencodeAgent,
    matrix=_newest(
        "opencode",
        {
            **dict.fromkeys(("deeds", "no-plugin"), _DONE),
            **dict.fromkeys(("error-401", "error-403"), _NO_KEY),
            "unknown-model": _NO_MODEL,
            "sigterm": _SILENT,
        },
    ),
    last_words=lambda words: (
        {"type": "text", "part": {"text": words}},
        {"type": "step_finish", "part": {"reason": "stop", "tokens": None}},
    ),
    errors=tuple(
        (({"type": "error", "error": error},), 0, means)
        for error, means in (
            ({"name": "APIError", "data": {"message": "x", "statusCode": 429}}, _LIMITED),
            ({"name": "APIError", "data": {"message": "x", "statusCode": 503}}, _DOWN),
            ({"data": {"statusCode": 403, "responseBody": "autopilot: host"}}, _NOT_LISTED),
            ({"name": "UnknownError", "data": {"message": "Unable to connect."}}, _UNREACHED),
            ({"name": "Flux", "data": []}, _ERROR),
            ({"data": {"message": _QUOTED, "statusCode": 400}}, _ERROR),
            ({"data": {"message": _QUOTED, "statusCode": 503}}, _DOWN),
            ({"data": {"message": "x", "statusCode": 402}}, _BILLED),
            ({"data": {"message": "prompt is too long", "statusCode": 400}}, _TOO_LONG),
            ({"data": {"message": "x", "responseBody": "autopilot: host", "statusCode": 502}}, _DOWN),
            ({"data": {"message": "messages.401 is too big: 404 429 503"}}, _ERROR),
            ({"data": {"message": "Unauthorized", "statusCode": None}}, _NO_KEY),
            ([], _ERROR),
        )
    ),
    ends=(
        *(
            (({"type": "step_finish", "part": {"reason": odd}},), 0, _NO_RESULT)
            for odd in (
                *("tool-calls", "length", "content-filter", "error", "other", "unknown", ""),
                *(None, ["stop"], 0, True),
            )
        ),
        (({"type": "step_finish", "part": {"reason": "stop"}}, {"type": "step_start"}), 0, _NO_RESULT),
    ),
    strange=(
        *({"type": "text", "part": [1]}, {"type": "tool_use"}),
        {"type": "tool_use", "part": {"state": 7, "callID": {}}},
        {"type": "step_finish", "part": {"tokens": {"input": "9", "output": -1, "cache": 3}}},
    ),
    flood=(
        *({"type": "tool_use", "part": {"tool": _LONG, "state": _RULE}} for _ in range(500)),
        *({"type": f"new.{n}{_LONG}"} for n in range(500)),
    ),
)
PLAYED: Final[Mapping[str, Played]] = {
    each.kind: each for each in (_CLAUDE, _CODEX, _COPILOT, _GEMINI, _OPENCODE)
}
