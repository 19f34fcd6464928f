"""A scripted model on loopback that real coding agents talk to.

    with ModelServer([library.say("hello")]) as model:
        env["ANTHROPIC_BASE_URL"] = model.url

A client session is known by its header; each plays its scenario from the start.
Requests without tools (titles, probes) get a short answer and advance nothing.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.support import gemini_api, messages_api, responses_api
from tests.support.loopback import LoopbackHandler, LoopbackServer
from tests.support.scenarios.steps import ApiError, Scenario, Step, ToolCall, Usage

SESSION_HEADER: Final = "x-claude-code-session-id"
CODEX_SESSION_HEADER: Final = "session-id"
_SECRET_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key")
_CWD: Final = re.compile(r"(?:Primary w|W)orking directory: ([^\n]+)")
_ASIDE: Final = Step("ok", usage=Usage(10, 2))
_NO_SCENARIO: Final = Step(error=ApiError(404, "not_found_error", "no scenario fits this prompt"))


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request for a message; `step` is None for those outside the script."""

    session: str
    step: int | None
    model: str
    tools: tuple[str, ...]
    prompt: str
    body: dict[str, Any]
    headers: dict[str, str]


class ModelServer(LoopbackServer):
    """Plays scenarios; the first whose `when` stands in the first prompt is taken."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._scenarios = tuple(scenarios)
        self._turns: Counter[tuple[str, int]] = Counter()
        self._requests: list[ModelRequest] = []
        self._state_lock = threading.Lock()
        super().__init__(_Handler)

    def requests(self) -> list[ModelRequest]:
        """What was asked so far, oldest first."""
        with self._state_lock:
            return list(self._requests)

    def turns(self) -> int:
        """How many requests of the script were answered, all sessions together."""
        return sum(1 for request in self.requests() if request.step is not None)

    def next_step(self, body: dict[str, Any], headers: dict[str, str]) -> Step:
        """Record a request and choose its answer."""
        session = headers.get(SESSION_HEADER, "")
        prompt = _first_prompt(body)
        tools = tuple(str(tool.get("name", "")) for tool in body.get("tools") or [])
        with self._state_lock:
            number, step = self._choose(session, prompt) if tools else (None, _ASIDE)
            model = str(body.get("model", ""))
            self._requests.append(ModelRequest(session, number, model, tools, prompt, body, headers))
        return _in_folder(step, _working_directory(body))

    def next_response(self, body: dict[str, Any], headers: dict[str, str]) -> Step:
        """The same for a request of the Responses API; scenarios name no folder there."""
        session, prompt = headers.get(CODEX_SESSION_HEADER, ""), responses_api.first_prompt(body)
        tools, model = responses_api.tool_names(body), str(body.get("model", ""))
        with self._state_lock:
            number, step = self._choose(session, prompt)
            self._requests.append(ModelRequest(session, number, model, tools, prompt, body, headers))
        return step

    def next_content(self, model: str, body: dict[str, Any], headers: dict[str, str]) -> Step:
        """The same for a request of the Gemini API, which names no session: one process asks one server."""
        prompt, tools = gemini_api.first_prompt(body), gemini_api.tool_names(body)
        with self._state_lock:
            number, step = self._choose("", prompt) if tools else (None, _ASIDE)
            self._requests.append(ModelRequest("", number, model, tools, prompt, body, headers))
        return step

    def _choose(self, session: str, prompt: str) -> tuple[int | None, Step]:
        for index, scenario in enumerate(self._scenarios):
            if scenario.when in prompt:
                number = self._turns[session, index]
                self._turns[session, index] += 1
                return number, scenario.step(number)
        return None, _NO_SCENARIO


class _Handler(LoopbackHandler):
    server: ModelServer

    def do_HEAD(self) -> None:  # noqa: N802 - name of the base
        self.send_bytes(200, {}, b"")

    def do_GET(self) -> None:  # noqa: N802 - name of the base
        self._send_json(404, messages_api.error_body(ApiError(404, "not_found_error", self.path)))

    def do_POST(self) -> None:  # noqa: N802 - name of the base
        raw = self.read_body()
        path = self.path.partition("?")[0]
        if path.endswith("/messages/count_tokens"):
            self._send_json(200, {"input_tokens": 1000})
        elif path.endswith("/messages"):
            self._message(json.loads(raw))
        elif path.endswith("/responses"):
            self._response(json.loads(raw))
        elif gemini_api.is_asked(path):
            self._content(path, json.loads(raw))
        else:
            self.do_GET()

    def _message(self, body: dict[str, Any]) -> None:
        step = self.server.next_step(body, self._shown_headers())
        if step.hang_s:
            self.server.closing.wait(step.hang_s)
        model = str(body.get("model", "scripted"))
        if step.error:
            self._send_json(step.error.status, messages_api.error_body(step.error), step.headers)
        elif body.get("stream"):
            self._stream(step, messages_api.stream(step, model))
        else:
            self._send_json(200, messages_api.whole_message(step, model), step.headers)

    def _response(self, body: dict[str, Any]) -> None:
        step = self.server.next_response(body, self._shown_headers())
        if step.hang_s:
            self.server.closing.wait(step.hang_s)
        if step.error:
            self._send_json(step.error.status, responses_api.error_body(step.error), step.headers)
        else:
            self._stream(step, responses_api.stream(step, str(body.get("model", "scripted"))))

    def _content(self, path: str, body: dict[str, Any]) -> None:
        model = gemini_api.model_of(path)
        step = self.server.next_content(model, body, self._shown_headers())
        if step.hang_s:
            self.server.closing.wait(step.hang_s)
        if step.error:
            self._send_json(step.error.status, gemini_api.error_body(step.error), step.headers)
        elif path.endswith(gemini_api.STREAMED):
            self._stream(step, gemini_api.stream(step, model))
        else:
            self._send_json(200, gemini_api.message(step, model), step.headers)

    def _shown_headers(self) -> dict[str, str]:
        """The request's headers, without what they hold in secret."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        return headers | {name: "(given)" for name in _SECRET_HEADERS if name in headers}

    def _stream(self, step: Step, events: Iterable[bytes]) -> None:
        self.send_response(200)
        for name, value in {
            "Content-Type": "text/event-stream",
            "Connection": "close",
            **step.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        for event in events:
            if step.cut and event.startswith((b"event: content_block_stop", b"event: response.completed")):
                self.cut()
                return
            self.wfile.write(event)
            self.wfile.flush()

    def _send_json(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_bytes(status, {"Content-Type": "application/json", **(headers or {})}, data)


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [str(block.get("text", "")) for block in content if isinstance(block, dict)]
    return []


def _first_prompt(body: dict[str, Any]) -> str:
    """All text that the person's side sent before the model's first turn."""
    said: list[str] = []
    for message in body.get("messages") or []:
        if message.get("role") == "assistant":
            break
        said += _texts(message.get("content"))
    return "\n".join(said)


def _working_directory(body: dict[str, Any]) -> str:
    """The folder that the client names in its system prompt or first message."""
    found = _CWD.search("\n".join(_texts(body.get("system"))) + "\n" + _first_prompt(body))
    return found.group(1).strip() if found else "."


def _in_folder(step: Step, folder: str) -> Step:
    """The step with "{cwd}" filled in wherever a tool is told a path or a command."""
    tools = tuple(ToolCall(call.name, _filled(call.input, folder)) for call in step.tools)
    return replace(step, text=step.text.replace("{cwd}", folder), tools=tools)


def _filled(values: dict[str, Any], folder: str) -> dict[str, Any]:
    return {k: v.replace("{cwd}", folder) if isinstance(v, str) else v for k, v in values.items()}
