"""The wire format of the Gemini API, as far as a scripted answer to Gemini CLI needs it.

Pure: a step in, JSON or server-sent events out.
Source: https://ai.google.dev/api/generate-content; requests of Gemini CLI 0.61.0.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.support.scenarios.steps import ApiError, Step

Json = dict[str, Any]
STREAMED: Final = ":streamGenerateContent"
WHOLE: Final = ":generateContent"


def is_asked(path: str) -> bool:
    """Tell whether a path asks for a message."""
    return path.endswith((STREAMED, WHOLE))


def model_of(path: str) -> str:
    """The model that a path names: `/v1beta/models/NAME:verb`."""
    return path.rpartition("/")[2].partition(":")[0]


def error_body(error: ApiError) -> Json:
    return {"error": {"code": error.status, "status": error.kind, "message": error.message}}


def message(step: Step, model: str) -> Json:
    """The whole answer."""
    parts: list[Json] = [{"text": step.text}] if step.text else []
    parts += [{"functionCall": {"name": call.name, "args": call.input}} for call in step.tools]
    used = step.usage
    shown = used.input + used.cache_read
    return {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0},
        ],
        "usageMetadata": {
            "promptTokenCount": shown,
            "cachedContentTokenCount": used.cache_read,
            "candidatesTokenCount": used.output,
            "totalTokenCount": shown + used.output,
        },
        "modelVersion": step.model or model,
        "responseId": "made-up",
    }


def stream(step: Step, model: str) -> Iterator[bytes]:
    """The answer as server-sent events: one."""
    yield f"data: {json.dumps(message(step, model))}\n\n".encode()


def tool_names(body: Json) -> tuple[str, ...]:
    return tuple(
        str(each.get("name"))
        for tool in body.get("tools") or []
        for each in tool.get("functionDeclarations") or []
    )


def first_prompt(body: Json) -> str:
    """All text that the person's side sent before the model's first turn."""
    said: list[str] = []
    for content in body.get("contents") or []:
        if content.get("role") == "model":
            break
        said += [str(part.get("text", "")) for part in content.get("parts") or []]
    return "\n".join(said)


def tool_results(body: Json) -> list[str]:
    """What tools gave back so far, oldest first."""
    return [
        json.dumps(part["functionResponse"].get("response"))
        for content in body.get("contents") or []
        for part in content.get("parts") or []
        if "functionResponse" in part
    ]
