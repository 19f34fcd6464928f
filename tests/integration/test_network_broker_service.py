"""The key broker and the service behind it: its answers, its certificate, the way to it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from autopilot.config.outward import Outward, Proxy
from autopilot.runner.network.carried import Carried
from tests.support.broker_desk import (
    OK,
    SSE,
    MakeDesk,
    Service,
    call,
    certificate,
    chunk,
    headers_of,
)


@pytest.mark.parametrize(
    "answer",
    [
        (
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 17\r\nrequest-id: r-1\r\n"
            b"anthropic-ratelimit-unified-reset: 1800000000\r\nContent-Length: 4\r\n\r\nslow"
        ),
        b"HTTP/1.1 529 Overloaded\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\nno",
    ],
)
def test_an_answer_is_passed_on_as_it_is(make_desk: MakeDesk, answer: bytes) -> None:
    got = make_desk(answer).ask(call())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert got.split(b"\r\n", 1)[0] == head.split(b"\r\n", 1)[0]
    assert got.endswith(b"\r\n\r\n" + body)
    assert headers_of(got) == {**headers_of(answer), "connection": "close"}


def test_what_was_carried_is_counted_by_kind_with_what_became_of_it(make_desk: MakeDesk) -> None:
    def answer(service: Service, client: socket.socket) -> None:
        service.request(client)
        number = len(service.heard)
        if number < 4:
            client.sendall(OK if number < 3 else b"HTTP/1.1 529 Overloaded\r\nContent-Length: 0\r\n\r\n")

    desk = make_desk(answer)
    for _ in range(4):
        desk.ask(call())
    desk.ask(call("/v1/files"))
    desk.ask(call(key=None))
    assert desk.outlet.carried.facts() == {
        "calls": {"POST /v1/messages": 4},
        "calls_failed": 1,
        "calls_unanswered": 1,
    }


def test_kinds_of_calls_beyond_a_few_are_counted_together() -> None:
    carried = Carried()
    for number in range(100):
        carried.add(f"GET /v1/models/m{number}", 200)
    calls = carried.facts()["calls"]
    assert isinstance(calls, dict)
    assert (len(calls), calls["other"]) == (21, 80)


def test_what_is_between_the_service_and_us_is_not_told_inside(make_desk: MakeDesk) -> None:
    answer = (
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nAlt-Svc: h3\r\nKeep-Alive: 5\r\n" + OK.split(b"\r\n", 1)[1]
    )
    assert headers_of(make_desk(answer).ask(call())) == {
        "content-length": "2",
        "x-own": "1",
        "connection": "close",
    }


def test_an_answer_without_a_length_ends_when_the_service_does(make_desk: MakeDesk) -> None:
    got = make_desk(b"HTTP/1.1 200 OK\r\n\r\nall of it").ask(call())
    assert got.endswith(b"\r\n\r\n9\r\nall of it\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    ],
)
def test_a_service_that_answers_nonsense_is_told_as_such_and_is_no_refusal(
    make_desk: MakeDesk, answer: bytes
) -> None:
    desk = make_desk(answer)
    got = desk.ask(call())
    assert got.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert b"autopilot: " not in got  # the mark of a refusal
    assert desk.codes() == []


def test_a_service_that_is_not_there_is_told_as_such(make_desk: MakeDesk) -> None:
    desk = make_desk(url="http://gone.example")
    assert b"502 Bad Gateway" in desk.ask(call())
    assert desk.codes() == []


def test_an_answer_that_is_cut_is_cut_for_the_client_too(make_desk: MakeDesk) -> None:
    got = make_desk(SSE + chunk(b"data: 1\n\n")).ask(call())
    assert chunk(b"data: 1\n\n") in got
    assert not got.endswith(b"0\r\n\r\n")


@pytest.mark.needs(binary="openssl", apt="openssl")
def test_the_service_is_spoken_to_by_tls_as_the_one_that_it_should_be(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls, cert = certificate(tmp_path, "api.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000
    desk = make_desk(answer, url="https://api.example", tls=tls)
    assert desk.ask(call(body=b"y" * 500_000)).endswith(b"x" * 300_000)
    (heard,) = desk.service.heard
    assert headers_of(heard)["host"] == "api.example"
    assert heard.endswith(b"y" * 500_000)
    assert desk.net.connected == [("8.8.8.8", 443)]


@pytest.mark.needs(binary="openssl", apt="openssl")
@pytest.mark.parametrize("name", ["api.example", "evil.example"])
def test_whoever_has_not_its_certificate_is_told_nothing(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One that nobody vouches for, and one that is another's."""
    tls, cert = certificate(tmp_path, name)
    if name != "api.example":
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    desk = make_desk(url="https://api.example", tls=tls)
    assert b"502 Bad Gateway" in desk.ask(call())
    assert desk.service.heard == []


@pytest.mark.needs(binary="openssl", apt="openssl")
def test_an_encrypted_answer_that_is_broken_off_is_not_taken_for_whole(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks_off(service: Service, client: socket.socket) -> None:
        service.request(client)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        socket.socket.shutdown(client, socket.SHUT_RDWR)  # without a word of TLS

    tls, cert = certificate(tmp_path, "api.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    got = make_desk(breaks_off, url="https://api.example", tls=tls).ask(call())
    assert not got.endswith(b"0\r\n\r\n")


def test_a_service_that_never_shakes_hands_is_given_up(
    make_desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autopilot.runner.network.errand.GREET_S", 0.2)
    desk = make_desk(lambda service, client: service.wait_for_the_end(client), url="https://api.example")
    assert b"502 Bad Gateway" in desk.ask(call())


def test_a_plain_service_behind_the_hosts_own_proxy_is_asked_through_it(make_desk: MakeDesk) -> None:
    desk = make_desk(outward=Outward(http=Proxy("proxy.example", 8080, "Basic c2VjcmV0")))
    answer = desk.ask(call())
    assert answer.endswith(b"ok")
    assert b"c2VjcmV0" not in answer
    (heard,) = desk.service.heard
    assert heard.startswith(b"POST http://api.example/v1/messages?beta=true HTTP/1.1\r\n")
    assert headers_of(heard)["proxy-authorization"] == "Basic c2VjcmV0"
    assert desk.net.connected == [("10.0.0.9", 8080)]
