"""The wire format of the OpenAI Responses API, as far as a scripted answer to Codex needs it.

Pure: a step in, JSON or server-sent events out.
Source: https://platform.openai.com/docs/api-reference/responses-streaming
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.support.scenarios.steps import ApiError, Step, ToolCall

Json = dict[str, Any]


def error_body(error: ApiError) -> Json:
    return {"error": {"type": error.kind, "code": error.kind, "message": error.message}}


def stream(step: Step, model: str) -> Iterator[bytes]:
    """The answer as events, one per item."""
    items = _items(step)
    answer = _frame(step, model)
    yield _event("response.created", response={**answer, "status": "in_progress", "usage": None})
    for index, item in enumerate(items):
        yield _event("response.output_item.done", output_index=index, item=item)
    yield _event("response.completed", response={**answer, "output": items})


def tool_names(body: Json) -> tuple[str, ...]:
    return tuple(str(tool.get("name") or tool.get("type")) for tool in body.get("tools") or [])


def first_prompt(body: Json) -> str:
    """All text that the person's side sent before the model's first turn."""
    said: list[str] = []
    for item in body.get("input") or []:
        if item.get("role") not in {"user", "developer"}:
            break
        said += [str(part.get("text", "")) for part in item.get("content") or []]
    return "\n".join(said)


def tool_results(body: Json) -> list[str]:
    """What tools gave back so far, oldest first."""
    return [
        str(item.get("output"))
        for item in body.get("input") or []
        if str(item.get("type")).endswith("call_output")
    ]


def _event(kind: str, **data: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def _frame(step: Step, model: str) -> Json:
    used = step.usage
    shown = used.input + used.cache_read
    return {
        "id": f"resp_{uuid.uuid4().hex[:16]}",
        "object": "response",
        "created_at": 0,
        "model": step.model or model,
        "status": "completed",
        "output": [],
        "usage": {
            "input_tokens": shown,
            "output_tokens": used.output,
            "total_tokens": shown + used.output,
            "input_tokens_details": {"cached_tokens": used.cache_read},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _items(step: Step) -> list[Json]:
    items: list[Json] = []
    if step.text:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        items.append({"type": "message", "role": "assistant", "status": "completed", "content": content})
    return [*items, *(_call(call) for call in step.tools)]


def _call(call: ToolCall) -> Json:
    """A tool with one `patch` is called in free form, as `apply_patch` is; others by an object."""
    common = {"call_id": f"call_{uuid.uuid4().hex[:12]}", "name": call.name, "status": "completed"}
    if "patch" in call.input:
        return {"type": "custom_tool_call", **common, "input": call.input["patch"]}
    return {"type": "function_call", **common, "arguments": json.dumps(call.input)}
