"""What Claude Code says, and what its ends mean: its row of `played`."""

from __future__ import annotations

from typing import Any, Final

from autopilot.runner.agents.claude import ClaudeAgent
from autopilot.schemas.run import Outcome
from tests.support.meanings import (
    BILLED,
    DONE,
    DOWN,
    ERROR,
    FAILED,
    LIMITED,
    LONG,
    NO_KEY,
    NO_MODEL,
    NO_RESULT,
    NOT_LISTED,
    QUOTED,
    SILENT,
    UNREACHED,
    newest,
)
from tests.support.playing import Means, Played

_ODD_RESULTS: Final[tuple[dict[str, Any], ...]] = (
    *({}, {"subtype": ["success"]}, {"subtype": "brand_new"}, {"subtype": None}),
    *({"subtype": "success", "is_error": odd} for odd in (None, 0, "false", True)),
)
_BOTH: Final = ("2.1.197", "2.1.332")
_OF_BOTH: Final[dict[str, Means]] = {
    **dict.fromkeys(("success", "partial", "cut", "background", "two-messages", "resume"), DONE),
    **dict.fromkeys(("unknown-model", "usage-warning", "denials"), DONE),
    **dict.fromkeys(("error-429", "plain-429-oauth"), LIMITED),
    "usage-limit": (Outcome.USAGE_LIMIT, "agent-usage-limit"),
    "error-401": NO_KEY,
    "budget": (Outcome.OVER_CEILING, "run-ceiling"),
    "bad-resume": ERROR,
    **dict.fromkeys(("sigint-api", "sigterm-api"), NO_RESULT),
}
CLAUDE: Final = Played(
    kind="claude",
    new=ClaudeAgent,
    matrix={
        **{(name, version): means for name, means in _OF_BOTH.items() for version in _BOTH},
        ("sigterm-bash", "2.1.197"): DONE,
        ("bad-costs", "made"): DONE,
        ("unknown-types", "made"): DONE,
        **newest(
            "claude",
            {
                **dict.fromkeys(("parallel", "hook-block", "error-429-then-ok", "background-term"), DONE),
                **dict.fromkeys(("bare", "prompts-none"), DONE),
                "usage-limit-api-key": LIMITED,
                **dict.fromkeys(("error-529", "error-500"), DOWN),
                "refused-connection": UNREACHED,
                **dict.fromkeys(("error-403", "no-key"), NO_KEY),
                "credit": (Outcome.CREDENTIAL, "agent-billing"),
                "error-404-model": NO_MODEL,
                "prompt-too-long": (FAILED, "agent-prompt-too-long"),
                "max-turns": (FAILED, "agent-max-turns"),
                **dict.fromkeys(("sigterm-bash", "sigkill-bash"), NO_RESULT),
                **dict.fromkeys(("bad-flag", "no-verbose", "root-skip", "duplicate-session"), SILENT),
            },
        ),
    },
    last_words=lambda words: ({"type": "result", "subtype": "success", "result": words},),
    errors=tuple(
        (({"type": "result", "is_error": True, "result": words, "api_error_status": status},), 1, means)
        for words, status, means in (
            ("autopilot: host", 403, NOT_LISTED),
            ("slow", 429, LIMITED),
            ("down", 529, DOWN),
            ("autopilot: host", 529, DOWN),
            (QUOTED, 400, ERROR),
            ("unpaid", 402, BILLED),
            ("Flux is low", None, ERROR),
            ([], [401], ERROR),
        )
    ),
    ends=(
        (({"type": "system", "subtype": "init"},), 0, NO_RESULT),
        *((({"type": "result", **odd, "result": "Done."},), 0, ERROR) for odd in _ODD_RESULTS),
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
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": f"{n}", "name": LONG}]}}
            for n in range(2000)
        ),
        *(
            {"type": "system", "subtype": "permission_denied", "tool_use_id": f"{n}", "tool_name": LONG}
            for n in range(500)
        ),
        {"type": "result", "permission_denials": [{"tool_use_id": f"x{n}"} for n in range(500)]},
    ),
)
