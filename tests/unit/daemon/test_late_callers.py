"""A caller that a daemon did not wait for asks again: nothing is done before the whole was heard."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from autopilot.daemon.api import client
from autopilot.daemon.api.call import CallError, error_body
from autopilot.daemon.api.control import ControlServer
from autopilot.schemas.errors import AutopilotError, TransientError

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


@contextmanager
def listening(path: Path, *, cut: int) -> Iterator[list[str]]:
    """Somebody who cuts the first callers off, and hears the next one."""
    met: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            for number in range(3):
                conn, _ = listener.accept()
                with conn:
                    if number < cut:
                        met.append("cut")
                        continue
                    met.append("heard")
                    hear(conn)
                    answer(conn, 200, {"done": True})
                    return

        serving = threading.Thread(target=serve)
        serving.start()
        yield met
        serving.join()


@pytest.mark.parametrize("cut", [1, 2])
def test_who_was_cut_off_before_it_was_heard_asks_again(tmp_path: Path, cut: int) -> None:
    with listening(tmp_path / "s", cut=cut) as met:
        assert client.call(tmp_path / "s", "POST", "/v1/tickets", LARGE) == {"done": True}
    assert met == ["cut"] * cut + ["heard"]


def test_who_is_never_heard_asks_three_times(tmp_path: Path) -> None:
    with listening(tmp_path / "s", cut=3) as met, pytest.raises(TransientError) as caught:
        client.call(tmp_path / "s", "POST", "/v1/tickets", LARGE)
    assert (caught.value.code, met) == ("daemon-silent", ["cut"] * 3)


def test_a_refusal_that_comes_before_the_end_of_the_question_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def refuse() -> None:
            conn, _ = listener.accept()
            with conn:
                answer(conn, 413, error_body(CallError(413, "body-too-large", "the body is too large")))

        refusing = threading.Thread(target=refuse)
        refusing.start()
        with pytest.raises(AutopilotError) as caught:
            client.call(path, "POST", "/v1/tickets", LARGE)
        refusing.join()
    assert caught.value.code == "body-too-large"


def test_a_caller_whose_machine_stands_still_for_longer_than_the_daemon_waits_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the connection and the question there may be seconds on a machine with a busy disk."""
    stood: list[float] = []

    class Slow(socket.socket):
        def sendall(self, *given: Any) -> None:  # noqa: ANN401 - as the base class has it
            if not stood:
                stood.append(PATIENCE_S)
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
