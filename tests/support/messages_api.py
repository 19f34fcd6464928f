"""The wire format of the Anthropic Messages API, as far as a scripted answer needs it.

Pure: a step in, JSON or server-sent events out.
Source: https://docs.claude.com/en/api/messages-streaming
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.support.scenarios.steps import ApiError, Step

Json = dict[str, Any]


def error_body(error: ApiError) -> Json:
    return {"type": "error", "error": {"type": error.kind, "message": error.message}}


def whole_message(step: Step, model: str) -> Json:
    """The answer to a request that did not ask for a stream."""
    message = _frame(step, model)
    message |= {"content": _blocks(step), "stop_reason": _stop_reason(step)}
    message["usage"]["output_tokens"] = step.usage.output
    return message


def stream(step: Step, model: str) -> Iterator[bytes]:
    """The same answer as events, one per item."""
    yield _event("message_start", message=_frame(step, model))
    for index, block in enumerate(_blocks(step)):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            part = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": part}
        yield _event("content_block_start", index=index, content_block=empty)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {"stop_reason": _stop_reason(step), "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage={"output_tokens": step.usage.output})
    yield _event("message_stop")


def _event(kind: str, **data: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def _frame(step: Step, model: str) -> Json:
    """A message before its content: output tokens are not known yet, so 1."""
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": step.model or model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": step.usage.input,
            "output_tokens": 1,
            "cache_read_input_tokens": step.usage.cache_read,
            "cache_creation_input_tokens": step.usage.cache_write,
        },
    }


def _blocks(step: Step) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": step.text}] if step.text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": call.name, "input": call.input}
        for call in step.tools
    ]
    return blocks


def _stop_reason(step: Step) -> str:
    return "tool_use" if step.tools else "end_turn"
