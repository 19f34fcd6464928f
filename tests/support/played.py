"""What each agent whose stream we read says, and what its ends mean: one row of the matrix for each agent.

What all of them have in common is in `tests/unit/runner/test_agents_matrix.py`; what one has alone is in
its own file there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from autopilot.runner.agents.codex import CodexAgent
from autopilot.runner.agents.copilot import CopilotAgent
from autopilot.runner.agents.gemini import GeminiAgent
from autopilot.runner.agents.opencode import OpencodeAgent
from autopilot.schemas.run import Outcome
from tests.support.meanings import (
    BILLED,
    DONE,
    DOWN,
    ERROR,
    LIMITED,
    LONG,
    NO_KEY,
    NO_MODEL,
    NO_RESULT,
    NOT_LISTED,
    QUOTED,
    SILENT,
    TOO_LONG,
    UNREACHED,
    newest,
)
from tests.support.played_claude import CLAUDE
from tests.support.playing import Played

_ODD_CODES: Final[tuple[Any, ...]] = (1, None, -1, "0", "1", 0.0, 1.0, False, True, {}, 2**70)
_CODEX: Final = Played(
    kind="codex",
    new=CodexAgent,
    matrix=newest(
        "codex",
        {
            **dict.fromkeys(("command", "patch", "first-turn", "resumed", "outside"), DONE),
            "usage-limit": (Outcome.USAGE_LIMIT, "agent-usage-limit-weekly"),
            "quota": (Outcome.CREDENTIAL, "agent-billing"),
            **dict.fromkeys(("error-401", "no-key"), NO_KEY),
            "error-429": LIMITED,
            "error-500": DOWN,
            "cut": UNREACHED,
            **dict.fromkeys(("bad-resume", "bad-flag"), SILENT),
            "sigterm": NO_RESULT,
        },
    ),
    last_words=lambda words: (
        {"type": "item.completed", "item": {"type": "agent_message", "text": words}},
        {"type": "turn.completed", "usage": {"input_tokens": "9", "output_tokens": None}},
    ),
    errors=tuple(
        (({"type": "turn.failed", "error": {"message": words}},), 1, means)
        for words, means in (
            ("autopilot: host", NOT_LISTED),
            ("You've hit your usage limit. Try again later.", (Outcome.USAGE_LIMIT, "agent-usage-limit")),
            ("You’ve hit your usage limit. Try again later.", (Outcome.USAGE_LIMIT, "agent-usage-limit")),
            ("Flux is low", ERROR),
            ([], ERROR),
            (f"unexpected status 400 Bad Request: {QUOTED}", ERROR),
            ("unexpected status 400 Bad Request: model x is not supported", NO_MODEL),
            ("unexpected status 413 Too Large: context_length_exceeded", TOO_LONG),
            (f"unexpected status 503 Service Unavailable: {QUOTED}", DOWN),
            (f"exceeded retry limit, last status: 429 Too Many Requests, {QUOTED}", LIMITED),
            ("unexpected status 502 Bad Gateway: autopilot: host", DOWN),
            ("unexpected status 404 Not Found: gone", NO_MODEL),
            ("unexpected status 402 Payment Required: no", BILLED),
            ("messages.401 is too big: 404 429 503", ERROR),
        )
    ),
    ends=((({"type": "turn.started"},), 0, NO_RESULT),),
    strange=({"type": "item.started", "item": [1]}, {"type": "item.completed", "item": {"type": {}}}),
    flood=(
        *({"type": "item.completed", "item": {"type": f"{n}{LONG}"}} for n in range(2000)),
        *({"type": "item.completed", "item": {"type": "error", "message": LONG}} for _ in range(500)),
    ),
    denials_kept=0,
)
_COPILOT: Final = Played(
    kind="copilot",
    new=CopilotAgent,
    matrix=newest(
        "copilot", {"deeds": DONE, "error-401": NO_KEY, "unknown-model": NO_MODEL, "sigterm": NO_RESULT}
    ),
    last_words=lambda words: (
        {"type": "assistant.message", "data": {"content": words}},
        {"type": "result", "exitCode": 0},
    ),
    errors=tuple(
        (({"type": "session.error", "data": data}, {"type": "result", "exitCode": 0}), 0, means)
        for data, means in (
            ({"message": "autopilot: host", "statusCode": 403}, NOT_LISTED),
            ({"message": "slow", "statusCode": 429}, LIMITED),
            ({"message": "down", "statusCode": 529}, DOWN),
            ({"message": "Flux is low"}, ERROR),
            ({"statusCode": [401]}, ERROR),
            ({"message": QUOTED, "statusCode": 400}, ERROR),
            ({"message": "autopilot: host", "statusCode": 502}, DOWN),
            ({"message": "unpaid", "statusCode": 402}, BILLED),
        )
    ),
    ends=(
        (({"type": "result"},), 0, NO_RESULT),
        *((({"type": "result", "exitCode": code},), 0, NO_RESULT) for code in _ODD_CODES),
    ),
    strange=(
        *({"type": "assistant.message", "data": 1}, {"type": "tool.execution_complete"}),
        {"type": "tool.execution_start", "data": {"toolCallId": {}}},
    ),
    flood=(
        *(
            {"type": "tool.execution_start", "data": {"toolCallId": f"{n}", "toolName": LONG}}
            for n in range(2000)
        ),
        *({"type": "tool.execution_complete", "data": {"error": {"code": "denied"}}} for _ in range(500)),
    ),
)
_GEMINI: Final = Played(
    kind="gemini",
    new=GeminiAgent,
    matrix=newest(
        "gemini",
        {
            "deeds": DONE,
            **dict.fromkeys(("error-401", "error-400-key", "error-403", "no-key"), NO_KEY),
            "unknown-model": NO_MODEL,
            "quota": LIMITED,
            "sigterm": NO_RESULT,
        },
    ),
    last_words=lambda words: (
        {"type": "message", "role": "assistant", "content": words},
        {"type": "result", "status": "success", "stats": None},
    ),
    errors=tuple(
        (({"type": "result", "status": "error", "error": {"message": words}},), 1, means)
        for words, means in (
            ("autopilot: model.example is not among the hosts", NOT_LISTED),
            ('[API Error: {"error":{"code":503}}]', DOWN),
            ("You exceeded your current quota", LIMITED),
            ("fetch failed sending request", UNREACHED),
            ("Flux is low", ERROR),
            ([], ERROR),
            *(
                (f'[API Error: {{"error":{{"message":"\\"code\\":401 {QUOTED}","code": {code}}}}}]', means)
                for code, means in (
                    *((400, ERROR), (403, NO_KEY), (404, NO_MODEL), (402, BILLED)),
                    *((429, LIMITED), (503, DOWN)),
                )
            ),
            ('[API Error: {"error":{"code":400,"message":"write: API key not valid"}}]', ERROR),
            ('[API Error: {"error":{"code":502,"message":"autopilot: host"}}]', DOWN),
            ('messages.3: "code":401 and "code":503', ERROR),
        )
    ),
    ends=(
        ((), 41, NO_KEY),
        (({"type": "init"},), 1, NO_RESULT),
        *(
            (({"type": "result", "status": odd},), 0, ERROR)
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
        *({"type": "tool_use", "tool_id": f"{n}", "tool_name": LONG} for n in range(2000)),
        *({"type": "tool_result", "error": {"type": "tool_not_registered"}} for _ in range(500)),
    ),
)
_RULE: Final = {"status": "error", "error": "The user has specified a rule which prevents you"}
_OPENCODE: Final = Played(
    kind="opencode",
    new=OpencodeAgent,
    matrix=newest(
        "opencode",
        {
            **dict.fromkeys(("deeds", "no-plugin"), DONE),
            **dict.fromkeys(("error-401", "error-403"), NO_KEY),
            "unknown-model": NO_MODEL,
            "sigterm": SILENT,
        },
    ),
    last_words=lambda words: (
        {"type": "text", "part": {"text": words}},
        {"type": "step_finish", "part": {"reason": "stop", "tokens": None}},
    ),
    errors=tuple(
        (({"type": "error", "error": error},), 0, means)
        for error, means in (
            ({"name": "APIError", "data": {"message": "x", "statusCode": 429}}, LIMITED),
            ({"name": "APIError", "data": {"message": "x", "statusCode": 503}}, DOWN),
            ({"data": {"statusCode": 403, "responseBody": "autopilot: host"}}, NOT_LISTED),
            ({"name": "UnknownError", "data": {"message": "Unable to connect."}}, UNREACHED),
            ({"name": "Flux", "data": []}, ERROR),
            ({"data": {"message": QUOTED, "statusCode": 400}}, ERROR),
            ({"data": {"message": QUOTED, "statusCode": 503}}, DOWN),
            ({"data": {"message": "x", "statusCode": 402}}, BILLED),
            ({"data": {"message": "prompt is too long", "statusCode": 400}}, TOO_LONG),
            ({"data": {"message": "x", "responseBody": "autopilot: host", "statusCode": 502}}, DOWN),
            ({"data": {"message": "messages.401 is too big: 404 429 503"}}, ERROR),
            ({"data": {"message": "Unauthorized", "statusCode": None}}, NO_KEY),
            ([], ERROR),
        )
    ),
    ends=(
        *(
            (({"type": "step_finish", "part": {"reason": odd}},), 0, NO_RESULT)
            for odd in (
                *("tool-calls", "length", "content-filter", "error", "other", "unknown", ""),
                *(None, ["stop"], 0, True),
            )
        ),
        (({"type": "step_finish", "part": {"reason": "stop"}}, {"type": "step_start"}), 0, NO_RESULT),
    ),
    strange=(
        *({"type": "text", "part": [1]}, {"type": "tool_use"}),
        {"type": "tool_use", "part": {"state": 7, "callID": {}}},
        {"type": "step_finish", "part": {"tokens": {"input": "9", "output": -1, "cache": 3}}},
    ),
    flood=(
        *({"type": "tool_use", "part": {"tool": LONG, "state": _RULE}} for _ in range(500)),
        *({"type": f"new.{n}{LONG}"} for n in range(500)),
    ),
)
PLAYED: Final[Mapping[str, Played]] = {
    each.kind: each for each in (CLAUDE, _CODEX, _COPILOT, _GEMINI, _OPENCODE)
}
