"""The key broker carries as it comes, both ways, and lets go of whoever is gone."""

from __future__ import annotations

import contextlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.broker_desk import (
    OK,
    SSE,
    MakeDesk,
    Service,
    call,
    chunk,
    headers_of,
    rest_of,
)
from tests.support.wait import wait_until


def test_whoever_waits_to_be_told_to_go_on_is_told_and_the_service_is_not_asked(make_desk: MakeDesk) -> None:
    desk = make_desk()
    with desk.visitor() as client:
        head, body = call(more="Expect: 100-continue\nContent-Length: 3\n", body=b""), b"abc"
        client.sendall(head)
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(body)
        assert b"".join(rest_of(client)).endswith(b"ok")
    assert desk.service.heard[0].endswith(b"\r\n\r\nabc")
    assert "expect" not in headers_of(desk.service.heard[0])


def test_a_body_in_chunks_is_understood_and_written_anew(make_desk: MakeDesk) -> None:
    desk = make_desk()
    body = b"3;ext=1\r\nabc\r\n" + b"0\r\nX-Trailer: y\r\n\r\n"
    assert desk.ask(call(more="Transfer-Encoding: chunked\n", body=body)).endswith(b"ok")
    assert desk.service.heard[0].endswith(b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n")


@pytest.mark.parametrize("body", [b"zz\r\nabc\r\n0\r\n\r\n", b"-1\r\n\r\n", b"3\r\nabcX\r\n0\r\n\r\n"])
def test_chunks_that_are_none_are_refused_and_the_service_is_let_go(make_desk: MakeDesk, body: bytes) -> None:
    desk = make_desk(lambda service, client: service.wait_for_the_end(client))
    desk.ask(call(more="Transfer-Encoding: chunked\n", body=body))
    assert desk.codes() == ["malformed"]
    assert desk.service.left.wait(20)


def test_a_body_that_grows_too_large_is_refused_and_the_service_is_let_go(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autopilot.runner.network.exchange.MAX_BODY_BYTES", 100_000)
    desk = make_desk(lambda service, client: service.wait_for_the_end(client))
    desk.ask(call(more="Transfer-Encoding: chunked\n", body=chunk(b"x" * 60_000) * 2))
    assert desk.codes() == ["too-large"]
    assert desk.service.left.wait(20)


def test_each_event_of_a_stream_arrives_before_the_next_is_sent(make_desk: MakeDesk) -> None:
    steps = [(b"data: %d\n\n" % number, threading.Event()) for number in range(3)]

    def one_by_one(service: Service, client: socket.socket) -> None:
        service.request(client)
        client.sendall(SSE)
        for event, has_been_heard in steps:
            client.sendall(chunk(event))
            assert has_been_heard.wait(20)
        client.sendall(b"0\r\n\r\n")

    desk = make_desk(one_by_one)
    with desk.visitor() as client:
        client.sendall(call())
        got = b""
        for event, has_been_heard in steps:
            while event not in got:
                got += client.recv(65536)
            has_been_heard.set()
        assert b"".join(rest_of(client)).endswith(b"0\r\n\r\n")


def test_a_client_that_leaves_lets_the_service_go_at_once(make_desk: MakeDesk) -> None:
    """The service must not write, and be paid for, what nobody waits for."""
    begun = threading.Event()

    def thinks(service: Service, client: socket.socket) -> None:
        service.request(client)
        begun.set()
        service.wait_for_the_end(client)

    desk = make_desk(thinks)
    with desk.visitor() as client:
        client.sendall(call())
        assert begun.wait(20)
    assert desk.service.left.wait(20)


def test_a_client_that_leaves_in_the_middle_of_a_stream_lets_the_service_go(make_desk: MakeDesk) -> None:
    desk = make_desk(_endless)
    with desk.visitor() as client:
        client.sendall(call())
        assert client.recv(100)
    assert desk.service.left.wait(20)


def test_a_stream_that_never_ends_ends_with_the_outlet(make_desk: MakeDesk) -> None:
    desk = make_desk(_endless)
    with desk.visitor() as client:
        client.sendall(call())
        assert client.recv(100)
        desk.outlet.__exit__(None, None, None)
        assert not b"".join(rest_of(client)).endswith(b"0\r\n\r\n")
    assert desk.service.left.wait(20)


def test_a_service_that_falls_silent_is_let_go_after_a_time(make_desk: MakeDesk) -> None:
    desk = make_desk(lambda service, client: service.wait_for_the_end(client), idle_s=0.2)
    assert desk.ask(call()) == b""
    assert desk.service.left.wait(20)


def test_an_answer_is_read_no_faster_than_the_client_takes_it(make_desk: MakeDesk) -> None:
    sent, piece = [0], b"x" * 65536

    def flood(service: Service, client: socket.socket) -> None:
        service.request(client)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (320 * len(piece)))
        for _ in range(320):
            client.sendall(piece)
            sent[0] += len(piece)

    desk = make_desk(flood)
    with desk.visitor() as client:
        client.sendall(call())
        wait_until(_StandsStill(sent), timeout_s=60, what="the service to be held back")
        assert sent[0] < 320 * len(piece)
        total = sum(len(each) for each in rest_of(client))
    assert total > 320 * len(piece)


def test_a_request_is_taken_no_faster_than_the_service_takes_it(make_desk: MakeDesk) -> None:
    go = threading.Event()

    def slow(service: Service, client: socket.socket) -> None:
        assert go.wait(60)
        service.request(client)
        client.sendall(OK)

    desk, sent, piece = make_desk(slow), [0], b"y" * 65536
    with desk.visitor() as client:

        def send() -> None:
            client.sendall(call(more=f"Content-Length: {160 * len(piece)}\n", body=b""))
            for _ in range(160):
                client.sendall(piece)
                sent[0] += len(piece)

        sender = threading.Thread(target=send)
        sender.start()
        wait_until(_StandsStill(sent), timeout_s=60, what="the client to be held back")
        assert sent[0] < 160 * len(piece)
        go.set()
        sender.join()
        assert b"".join(rest_of(client)).endswith(b"ok")
    assert len(desk.service.heard[0].partition(b"\r\n\r\n")[2]) == 160 * len(piece)


def test_an_answer_that_comes_before_the_whole_request_is_passed_on(make_desk: MakeDesk) -> None:
    def early(service: Service, client: socket.socket) -> None:
        client.recv(1000)
        client.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        service.wait_for_the_end(client)

    desk = make_desk(early)
    with desk.visitor() as client:
        client.sendall(call(more="Content-Length: 5000000\n", body=b"z" * 1000))
        assert b"".join(rest_of(client)).endswith(b"big")
    assert desk.service.left.wait(20)


def test_many_calls_at_once_are_not_mixed_up(make_desk: MakeDesk) -> None:
    def echo(service: Service, client: socket.socket) -> None:
        body = service.request(client).partition(b"\r\n\r\n")[2]
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    desk = make_desk(echo)
    with ThreadPoolExecutor(16) as pool:
        bodies = [b"%d" % number * 1000 for number in range(48)]
        answers = list(pool.map(lambda body: desk.ask(call(body=body)), bodies))
    assert [answer.partition(b"\r\n\r\n")[2] for answer in answers] == bodies


def _endless(service: Service, client: socket.socket) -> None:
    service.request(client)
    with contextlib.suppress(OSError):
        client.sendall(SSE)
        while not service.closing.wait(0.01):
            client.sendall(chunk(b"data: x\n\n"))
    service.left.set()


class _StandsStill:
    """Tells, asked again and again, whether a count that has begun no longer grows."""

    def __init__(self, count: list[int]) -> None:
        self._count, self._last, self._same = count, 0, 0

    def __call__(self) -> bool:
        now = self._count[0]
        self._same = self._same + 1 if 0 < now == self._last else 0
        self._last = now
        return self._same > 25
