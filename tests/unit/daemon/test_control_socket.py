"""The control socket: what the daemon answers, and that nothing a caller sends can hurt it."""

from __future__ import annotations

import gc
import json
import socket
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.address import MAX_ADDRESS_BYTES, short_address
from autopilot.daemon.api import client
from autopilot.daemon.api.call import Call
from autopilot.daemon.api.control import ControlServer
from autopilot.daemon.api.server import MAX_BODY_BYTES, MAX_CALLS
from autopilot.schemas.errors import (
    AutopilotError,
    ConfigError,
    ExitCode,
    InvariantError,
    RefusedError,
    TicketError,
    TransientError,
)
from tests.support.answering import answering
from tests.support.wait import wait_until


class Answers:
    """A handler that can echo, refuse, crash and wait."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.faults: list[BaseException] = []
        self.release = threading.Event()

    def __call__(self, call: Call) -> Mapping[str, Any]:
        self.calls.append(call)
        match call.path:
            case "/refuse":
                raise RefusedError("switch-off", "the switch is off", hint="autopilot on")
            case "/ticket":
                raise TicketError("base-missing", "base: no such branch")
            case "/crash":
                raise RuntimeError("a bug")
            case "/unprintable":
                return {"value": object()}
            case "/wait":
                self.release.wait(10)
        return {"method": call.method, "path": call.path, "query": dict(call.query), "body": dict(call.body)}


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def control(tmp_path: Path, answers: Answers) -> Iterator[Path]:
    path = tmp_path / "control.sock"
    server = ControlServer(path, answers, on_fault=answers.faults.append)
    server.start()
    try:
        yield path
    finally:
        answers.release.set()
        server.stop()


def raw(path: Path, request: bytes, *, half_close: bool = True) -> tuple[int, dict[str, Any]]:
    """Send bytes that our own client never would."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as conn:
        conn.settimeout(5)
        conn.connect(str(path))
        conn.sendall(request)
        if half_close:
            conn.shutdown(socket.SHUT_WR)
        reply = b"".join(iter(lambda: conn.recv(65536), b""))
    head, _, payload = reply.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(payload)


def test_a_call_reaches_the_handler_whole_and_its_answer_comes_back_whole(control: Path) -> None:
    text = 'quotes " and\nnewlines, ü, 文, 🙂' * 1000
    answer = client.call(control, "POST", "/v1/tickets?state=queued", {"body": text})
    assert answer == {
        "method": "POST",
        "path": "/v1/tickets",
        "query": {"state": "queued"},
        "body": {"body": text},
    }


def test_only_the_owner_may_use_the_socket(control: Path) -> None:
    assert stat.S_IMODE(control.stat().st_mode) == 0o600


def test_a_refusal_arrives_as_the_error_it_was(control: Path) -> None:
    with pytest.raises(RefusedError) as caught:
        client.call(control, "POST", "/refuse")
    assert (caught.value.code, caught.value.hint) == ("switch-off", "autopilot on")
    assert caught.value.exit_code is ExitCode.REFUSED
    with pytest.raises(TicketError, match="base: no such branch"):
        client.call(control, "POST", "/ticket")


@pytest.mark.parametrize("path", ["/crash", "/unprintable"])
def test_a_bug_in_an_answer_is_told_to_the_caller_and_the_log_and_the_next_call_works(
    control: Path, answers: Answers, path: str
) -> None:
    with pytest.raises(InvariantError, match="bug"):
        client.call(control, "GET", path)
    assert len(answers.faults) == 1
    assert client.call(control, "GET", "/v1/health")["path"] == "/v1/health"


def test_what_a_call_breaks_by_once_another_version_was_installed_is_told_as_that(
    control: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPILOT_PROGRAM", "autopilotd-0.dist-info:1:1:1")
    with pytest.raises(TransientError, match="another version of autopilot was installed meanwhile"):
        client.call(control, "GET", "/crash")


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"this is not http at all\r\n\r\n", 400, "bad-request"),
        (b"GET / HTTP/9.9\r\n\r\n", 505, "bad-request"),
        (b"DELETE / HTTP/1.0\r\n\r\n", 501, "bad-request"),
        (b"GET http://[x HTTP/1.0\r\n\r\n", 400, "bad-path"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.0\r\n\r\n", 414, "bad-request"),
        (b"POST / HTTP/1.0\r\nContent-Length: -1\r\n\r\n", 400, "bad-length"),
        (b"POST / HTTP/1.0\r\nContent-Length: 1e3\r\n\r\n", 400, "bad-length"),
        (b"POST / HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413, "body-too-large"),
        (b"POST / HTTP/1.0\r\nContent-Length: 9\r\n\r\n{}", 400, "body-cut-off"),
        (b"POST / HTTP/1.0\r\nContent-Length: 4\r\n\r\nnope", 400, "body-not-json"),
        (b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n\xff\xfe", 400, "body-not-json"),
        (b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n[]", 400, "body-not-an-object"),
        (b"POST / HTTP/1.0\r\nContent-Length: 200000\r\n\r\n" + b"[" * 200_000, 400, "body-not-json"),
    ],
)
def test_a_malformed_request_is_answered_with_a_code_and_never_reaches_the_handler(
    control: Path, answers: Answers, request_bytes: bytes, status: int, code: str
) -> None:
    got, body = raw(control, request_bytes)
    assert (got, body["error"]["code"]) == (status, code)
    assert answers.calls == []
    assert answers.faults == []


def test_a_caller_that_goes_away_in_the_middle_of_its_request_disturbs_nobody(
    control: Path, answers: Answers
) -> None:
    for _ in range(20):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as conn:
            conn.connect(str(control))
            conn.sendall(b"POST / HTTP/1.0\r\nContent-Le")
    assert client.call(control, "GET", "/v1/health")["method"] == "GET"
    assert answers.faults == []


def test_callers_who_never_finish_asking_neither_keep_others_out_nor_eat_all_descriptors(
    control: Path, answers: Answers
) -> None:
    before = threading.active_count()
    with ExitStack() as silent:
        for _ in range(3 * MAX_CALLS):
            conn = silent.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            client.wait_for_room(conn, 5)
            conn.connect(str(control))
            conn.sendall(b"POST / HTTP/1.0\r\nContent-Le")
        assert client.call(control, "GET", "/v1/health")["method"] == "GET"
        assert threading.active_count() - before <= MAX_CALLS
    assert answers.faults == []


def test_a_waiting_call_does_not_keep_others_waiting(control: Path, answers: Answers) -> None:
    waiting = threading.Thread(target=client.call, args=(control, "GET", "/wait"))
    waiting.start()
    try:
        wait_until(lambda: answers.calls, 30, "the first call is being answered")
        assert client.call(control, "GET", "/v1/health")["method"] == "GET"
    finally:
        answers.release.set()
        waiting.join()


def test_stop_ends_every_thread_and_removes_the_socket(tmp_path: Path, answers: Answers) -> None:
    before = set(threading.enumerate())
    path = tmp_path / "control.sock"
    server = ControlServer(path, answers, on_fault=answers.faults.append)
    server.start()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.connect(str(path))
        silent.sendall(b"GET /never-finished")
        wait_until(lambda: len(set(threading.enumerate()) - before) == 2, 30, "the call has its thread")
        server.stop()
    assert not path.exists()
    assert set(threading.enumerate()) == before
    gc.collect()  # an unclosed socket would warn, and warnings are errors


def test_a_socket_that_a_dead_daemon_left_is_replaced(tmp_path: Path, answers: Answers) -> None:
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    server = ControlServer(path, answers, on_fault=answers.faults.append)
    server.start()
    assert client.nudge(path)
    server.stop()


def test_a_file_of_somebody_else_under_the_sockets_name_is_not_removed(
    tmp_path: Path, answers: Answers
) -> None:
    path = tmp_path / "control.sock"
    path.write_text("precious")
    server = ControlServer(path, answers, on_fault=answers.faults.append)
    with pytest.raises(ConfigError) as caught:
        server.start()
    server.stop()
    assert caught.value.code == "socket-in-the-way"
    assert path.read_text() == "precious"


def test_stop_leaves_the_socket_of_a_successor_alone(tmp_path: Path, answers: Answers) -> None:
    path = tmp_path / "control.sock"
    first, second = (ControlServer(path, answers, on_fault=answers.faults.append) for _ in range(2))
    first.start()
    second.start()
    first.stop()
    assert client.nudge(path)
    second.stop()


def test_a_socket_deep_in_the_tree_works_although_its_path_is_too_long_for_the_kernel(
    tmp_path: Path, answers: Answers
) -> None:
    folder = tmp_path / ("a folder with a long name " * 4).strip() / ("ü" * 60)
    folder.mkdir(parents=True)
    path = folder / "control.sock"
    assert len(str(path).encode()) > MAX_ADDRESS_BYTES
    server = ControlServer(path, answers, on_fault=answers.faults.append)
    server.start()
    assert client.call(path, "GET", "/deep")["path"] == "/deep"
    assert path.is_socket()
    server.stop()
    assert not path.exists()
    with short_address(path) as address:
        alias = Path(address).parent
        assert alias.is_symlink()
    assert not alias.parent.exists()


def test_without_a_daemon_the_client_says_so_and_a_nudge_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with pytest.raises(client.DaemonAwayError) as caught:
        client.call(path, "GET", "/v1/status")
    assert caught.value.exit_code is ExitCode.LATER
    assert client.nudge(path) is False


def test_an_answer_that_is_cut_off_is_an_error_and_not_half_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    def answer_half(conn: socket.socket) -> None:
        conn.recv(65536)
        conn.sendall(b'HTTP/1.0 200 OK\r\nContent-Length: 40\r\n\r\n{"tickets": []}')

    with answering(path, answer_half), pytest.raises(AutopilotError) as caught:
        client.call(path, "GET", "/v1/tickets")
    assert caught.value.code == "daemon-cut-off"


def test_an_answer_that_is_too_long_says_to_ask_for_less(
    control: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_REPLY_BYTES", 1 << 20)
    assert client.call(control, "POST", "/", {"text": "x" * 1000})
    with pytest.raises(RefusedError) as caught:
        client.call(control, "POST", "/", {"text": "x" * (1 << 20)})
    assert (caught.value.code, caught.value.what) == ("answer-too-long", "the answer is larger than 1 MiB")
    assert "--limit" in caught.value.hint
