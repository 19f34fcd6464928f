"""A caller that a daemon did not wait for asks again: nothing is done before the whole was heard."""

from __future__ import annotations

import json
import select
import socket
from pathlib import Path
from typing import Any

import pytest

from autopilot.daemon.api import client
from autopilot.daemon.api.call import CallError, error_body
from autopilot.daemon.api.control import ControlServer
from autopilot.schemas.errors import AutopilotError, TransientError
from tests.support.answering import answering

PATIENCE_S = 20.0
LARGE = {"text": "x" * (2 << 20)}
"""More than a connection holds: whoever is cut off notices while it asks."""


def answer(conn: socket.socket, status: int, body: dict[str, Any]) -> None:
    content = json.dumps(body).encode()
    conn.sendall(b"HTTP/1.0 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(content), content))


def hear(conn: socket.socket) -> None:
    with conn.makefile("rb") as said:
        length = next(int(line.split(b":")[1]) for line in said if line.startswith(b"Content-Length"))
        assert said.readline() == b"\r\n"
        assert len(said.read(length)) == length


def cut_off(_: socket.socket) -> None:
    """Hang up on a caller who has not been heard."""


def serve(conn: socket.socket) -> None:
    hear(conn)
    answer(conn, 200, {"done": True})


def refuse(conn: socket.socket) -> None:
    answer(conn, 413, error_body(CallError(413, "body-too-large", "the body is too large")))


@pytest.mark.parametrize("cut", [1, 2])
def test_who_was_cut_off_before_it_was_heard_asks_again(tmp_path: Path, cut: int) -> None:
    with answering(tmp_path / "s", *[cut_off] * cut, serve):
        assert client.call(tmp_path / "s", "POST", "/v1/tickets", LARGE) == {"done": True}


def test_who_is_never_heard_asks_three_times(tmp_path: Path) -> None:
    with answering(tmp_path / "s", *[cut_off] * 3), pytest.raises(TransientError) as caught:
        client.call(tmp_path / "s", "POST", "/v1/tickets", LARGE)
    assert caught.value.code == "daemon-silent"


def test_who_was_heard_and_is_not_answered_does_not_ask_again(tmp_path: Path) -> None:
    """It may have been done: a second time is for whoever asked to decide."""
    with answering(tmp_path / "s", hear), pytest.raises(TransientError) as caught:
        client.call(tmp_path / "s", "POST", "/v1/tickets", LARGE)
    assert caught.value.code == "daemon-cut-off"


def test_a_refusal_that_comes_before_the_end_of_the_question_is_told(tmp_path: Path) -> None:
    with answering(tmp_path / "s", refuse), pytest.raises(AutopilotError) as caught:
        client.call(tmp_path / "s", "POST", "/v1/tickets", LARGE)
    assert caught.value.code == "body-too-large"


def test_a_caller_whose_machine_stands_still_for_longer_than_the_daemon_waits_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the connection and the question there may be seconds on a machine with a busy disk."""
    stood: list[bool] = []

    class Slow(socket.socket):
        def sendall(self, *given: Any) -> None:  # noqa: ANN401 - as the base class has it
            if not stood:
                stood.append(True)
                assert select.select([self], [], [], PATIENCE_S)[0], "the daemon gave the caller up"
            super().sendall(*given)

    monkeypatch.setattr("autopilot.daemon.api.server._Handler.timeout", 0.1)
    control = ControlServer(tmp_path / "s", lambda call: {"path": call.path}, on_fault=lambda _: None)
    control.start()
    try:
        monkeypatch.setattr(socket, "socket", Slow)
        assert client.call(tmp_path / "s", "GET", "/v1/health") == {"path": "/v1/health"}
    finally:
        monkeypatch.undo()
        control.stop()
    assert stood
