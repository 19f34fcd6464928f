"""The scripted model answers in the wire format, and plays each session by itself."""

import contextlib
import http.client
import json
from typing import Any

import pytest

from tests.support.fixtures import MakeModel
from tests.support.model_server import SESSION_HEADER, ModelServer
from tests.support.projects import python_project
from tests.support.scenarios import library
from tests.support.scenarios.steps import Scenario


def ask(
    model: ModelServer, prompt: str = "go", *, session: str = "s", stream: bool = False, tools: bool = True
) -> tuple[int, str]:
    body = {
        "model": "m",
        "stream": stream,
        "system": [{"type": "text", "text": "Primary working directory: /w/tree\nmore"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}],
        "tools": [{"name": "Read"}] if tools else [],
    }
    headers = {SESSION_HEADER: session, "x-api-key": "very-secret"}
    connection = http.client.HTTPConnection("127.0.0.1", model.server_port, timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", "/v1/messages?beta=true", json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def message(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def test_each_session_plays_the_scenario_from_its_start(make_model: MakeModel) -> None:
    model = make_model(library.write_file("a.txt", "a"))
    first = message(ask(model, session="one")[1])
    again = message(ask(model, session="two")[1])
    assert first["content"][1]["input"] == again["content"][1]["input"]
    assert first["content"][1]["input"]["file_path"] == "/w/tree/a.txt"
    last = message(ask(model, session="one")[1])
    assert (last["stop_reason"], last["content"][0]["text"]) == ("end_turn", "Written.")
    assert message(ask(model, session="one")[1])["content"][0]["text"] == "Written."


def test_the_prompt_chooses_among_scenarios(make_model: MakeModel) -> None:
    model = make_model(library.say("for A", when="ticket A"), library.say("for B", when="ticket B"))
    assert "for B" in ask(model, "do ticket B")[1]
    assert "for A" in ask(model, "do ticket A")[1]
    assert ask(model, "do ticket C")[0] == 404


def test_a_request_without_tools_does_not_advance_the_script(make_model: MakeModel) -> None:
    model = make_model(library.say("scripted"))
    assert "scripted" not in ask(model, tools=False)[1]
    assert "scripted" in ask(model)[1]
    assert (model.turns(), len(model.requests())) == (1, 2)


def test_a_stream_carries_the_same_answer_as_events(make_model: MakeModel) -> None:
    model = make_model(library.read_edit_test_finish(python_project()))
    status, text = ask(model, stream=True)
    kinds = [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event")]
    assert status == 200
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert "/w/tree/bill/split.py" in text


def test_a_cut_stream_ends_before_its_message_does(make_model: MakeModel) -> None:
    text = ask(make_model(library.cut_stream()), stream=True)[1]
    assert "half a sen" in text
    assert "message_stop" not in text


@pytest.mark.parametrize(
    ("scenario", "status", "kind"),
    [
        (library.unauthorized(), 401, "authentication_error"),
        (library.forbidden(), 403, "permission_error"),
        (library.rate_limited(), 429, "rate_limit_error"),
        (library.usage_limit(), 429, "rate_limit_error"),
        (library.overloaded(), 529, "overloaded_error"),
        (library.server_error(), 500, "api_error"),
        (library.credit_too_low(), 400, "invalid_request_error"),
    ],
)
def test_a_failure_has_the_status_and_the_type_of_the_real_service(
    make_model: MakeModel, scenario: Scenario, status: int, kind: str
) -> None:
    got, text = ask(make_model(scenario), stream=True)
    assert (got, message(text)["error"]["type"]) == (status, kind)


def test_an_error_can_go_away(make_model: MakeModel) -> None:
    model = make_model(library.say("well again").after(library.failure(529, "overloaded_error", "busy")))
    assert [ask(model)[0] for _ in range(2)] == [529, 200]


def test_a_hanging_answer_ends_with_the_server() -> None:
    with ModelServer([library.hang()]) as model:
        connection = http.client.HTTPConnection("127.0.0.1", model.server_port, timeout=20)
        connection.request("POST", "/v1/messages", json.dumps({"tools": [{"name": "Read"}]}))
    connection.close()


def test_keys_are_never_recorded(make_model: MakeModel) -> None:
    model = make_model(library.say("x"))
    ask(model)
    assert "very-secret" not in repr(model.requests())
