"""The key broker over real sockets: what it signs, and what it refuses."""

from __future__ import annotations

import pytest

from autopilot.runner.network import broker
from autopilot.runner.network.refused import Refused
from tests.support.broker_desk import (
    HERE,
    REAL,
    WORD,
    MakeDesk,
    call,
    headers_of,
)
from tests.support.hellos import client_hello
from tests.support.town import tunnel


@pytest.mark.parametrize(
    ("shown", "sent"),
    [
        (f"x-api-key: {WORD}", ("x-api-key", REAL)),
        (f"Authorization: Bearer {WORD}", ("authorization", f"Bearer {REAL}")),
        (f"AUTHORIZATION: bearer {WORD}", ("authorization", f"bearer {REAL}")),
    ],
)
def test_the_real_credential_is_set_where_its_stand_in_was_shown(
    make_desk: MakeDesk, shown: str, sent: tuple[str, str]
) -> None:
    desk = make_desk()
    answer = desk.ask(call(key=shown, more="anthropic-beta: oauth-2025-04-20\n"))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\nok")
    (heard,) = desk.service.heard
    assert heard.startswith(b"POST /v1/messages?beta=true HTTP/1.1\r\n")
    assert heard.endswith(b"\r\n\r\n{}")
    assert headers_of(heard) == {
        "host": "api.example",
        "connection": "close",
        sent[0]: sent[1],
        "anthropic-beta": "oauth-2025-04-20",
        "content-length": "2",
    }
    assert desk.codes() == []


def test_every_other_credential_is_dropped_however_it_is_spelled(make_desk: MakeDesk) -> None:
    desk = make_desk()
    others = (
        "Authorization: Bearer sk-of-somebody-else\nCookie: session=1\nX_Api_Key: a\napi-key: b\n"
        "Proxy-Authorization: Basic c2VjcmV0\nConnection: X-Hop\nX-Hop: 1\nTE: trailers\n"
        "X-Goog-User-Project: theirs\nX-Goog-IAM-Authorization-Token: d\nx_goog_user_project: theirs\n"
        "CF-AIG-Authorization: e\nX-Gateway-Api-Key: f\nX-Amz-Security-Token: g\n"
        "X-HTTP-Method-Override: GET\nX-Original-URL: /v1/files\n"
    )
    desk.ask(call(more=others))
    (heard,) = desk.service.heard
    assert headers_of(heard) == {
        "host": "api.example",
        "connection": "close",
        "x-api-key": REAL,
        "content-length": "2",
    }


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (call(key=None), "key"),
        (call(key="x-api-key: sk-ant-of-somebody-else"), "key"),
        (call(key=f"x-api-key: {WORD}x"), "key"),
        (call(key=f"Authorization: Basic {WORD}"), "key"),
        (call("/v1/files"), "path"),
        (call("/v1/files", method="GET", body=b""), "path"),
        (call("/v1/messages/batches"), "path"),
        (call("/v1/organizations/users"), "path"),
        (call("/"), "path"),
        (call("//v1/messages"), "path"),
        (call("/v1//messages"), "path"),
        (call("/v1/messages/"), "path"),
        (call("/v1/messages/../files"), "path"),
        (call("/v1/messages/%2e%2e/files"), "path"),
        (call("/v1/%6dessages"), "path"),
        (call("/v1/messages;x=1"), "path"),
        (call("/v1\\messages"), "path"),
        (call("/v1/messages#x"), "path"),
        (call("/V1/messages"), "path"),
        (call("/v1/models/..", method="GET", body=b""), "path"),
        (call("/v1/models/a/../../files", method="GET", body=b""), "path"),
        (call("/v1/messages?a=b#c"), "path"),
        (call("/v1/messages?x=/../y\\"), "path"),
        (call("/v1/messages?key=of-somebody-else"), "query"),
        (call("/v1/messages?beta=true&access_token=of-somebody-else"), "query"),
        (call("/v1/messages?%62eta=true"), "query"),
        (call("/v1/messages?beta=true&&beta=true"), "query"),
        (call("/v1/messages?BETA=true"), "query"),
        (call("/v1/messages?limit=5"), "query"),
        (call(method="PUT"), "method"),
        (call(method="DELETE"), "method"),
        (call("/v1/models"), "method"),
        (call(host="api.example"), "host-mismatch"),
        (call(host="127.0.0.1:3129"), "host-mismatch"),
        (call(host="localhost:3128"), "host-mismatch"),
        (call(host=f"x@{HERE}"), "host-mismatch"),
        (call(f"http://{HERE}/v1/messages", host="api.example"), "host-mismatch"),
        (call("http://api.example/v1/messages", host="api.example"), "brokered"),
        (call("http://api.example/v1/messages"), "host-mismatch"),
        (call("http://evil.example/v1/messages", host="evil.example"), "host"),
        (call(f"http://{HERE}@evil.example/v1/messages", host="evil.example"), "userinfo"),
        (call(f"https://{HERE}/v1/messages"), "not-for-a-proxy"),
        (call("*", method="OPTIONS", body=b""), "not-for-a-proxy"),
        (call(version="1.0"), "version"),
        (call(more="Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Key: x\n"), "upgrade"),
        (call(more="Upgrade: h2c\n"), "upgrade"),
        (call(more="Content-Length: 2\nContent-Length: 3\n"), "malformed"),
        (call(more="Content-Length: 2, 3\n"), "malformed"),
        (call(more="Content-Length: +2\n"), "malformed"),
        (call(more="Content-Length: 2\nTransfer-Encoding: chunked\n"), "framing"),
        (call(more="Transfer-Encoding: gzip, chunked\n"), "malformed"),
        (call(more="Transfer-Encoding: chunked, chunked\n"), "malformed"),
        (call(more="Transfer-Encoding: chunked\nTransfer-Encoding: identity\n"), "malformed"),
        (call(more=" folded: x\n"), "key"),
        (call(more="X-Y : z\n"), "malformed"),
        (call(more="X-Y: a\x00b\n"), "malformed"),
        (call(more="X-Y: a\rX-Api-Key: b\n"), "malformed"),
        (call("/v1/messages /v1/files"), "malformed"),
        (call(more="Host: evil.example\n"), "malformed"),
        (call(more=f"X-Long: {'x' * 200_000}\n"), "malformed"),
        (call(more="".join(f"X-{number}: y\n" for number in range(20_000))), "malformed"),
        (call(more=f"Content-Length: {broker.MAX_BODY_BYTES + 1}\n"), "too-large"),
        (call(more=f"Content-Length: {10**18}\n"), "too-large"),
        (tunnel("api.example:80"), "brokered"),
        (tunnel("api.example:443"), "brokered"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_call_of_the_clients_is_refused_noted_and_never_sent(
    make_desk: MakeDesk, request_bytes: bytes | str, code: str
) -> None:
    desk = make_desk()
    data = request_bytes.replace("\n", "\r\n").encode() if isinstance(request_bytes, str) else request_bytes
    answer = desk.ask(data)
    assert answer.startswith(b"HTTP/1.1 403") or answer == b""  # unread rest: the answer may be cut off
    assert desk.codes() == [code]
    assert (desk.net.connected, desk.service.heard) == ([], [])
    assert REAL.encode() not in answer


def test_a_tunnel_with_another_key_does_not_reach_the_vendor_either(make_desk: MakeDesk) -> None:
    """Whoever brought a key along could send what is here to an account of their own."""
    desk = make_desk(url="https://api.example")
    answer = desk.ask(tunnel("api.example:443").replace("\n", "\r\n").encode(), client_hello("api.example"))
    assert b"X-Autopilot-Refused: brokered" in answer
    assert desk.net.connected == []


def test_a_refusal_names_what_was_asked_and_never_what_was_said(make_desk: MakeDesk) -> None:
    desk = make_desk()
    desk.ask(call("/v1/files?secret=in-the-query", body=b"secret-in-the-body"))
    told = Refused("api.example", 80, "POST", "path", "/v1/files")
    assert list(desk.outlet.refusals.counts()) == [told]


def test_an_address_that_the_operator_has_not_listed_is_not_asked(make_desk: MakeDesk) -> None:
    desk = make_desk(is_listed=False)
    assert b"X-Autopilot-Refused: host\r\n" in desk.ask(call())
    assert desk.net.connected == []


def test_a_whole_address_inside_is_the_same_as_its_path(make_desk: MakeDesk) -> None:
    desk = make_desk()
    assert desk.ask(call(f"http://{HERE}/v1/models/m-1.5", method="GET", body=b"")).endswith(b"ok")
    assert desk.service.heard[0].startswith(b"GET /v1/models/m-1.5 HTTP/1.1\r\n")


def test_the_path_of_the_base_address_is_kept_and_nothing_beside_it_is_reached(make_desk: MakeDesk) -> None:
    desk = make_desk(url="http://api.example/gateway")
    assert desk.ask(call("/gateway/v1/messages")).endswith(b"ok")
    assert b"403" in desk.ask(call("/v1/messages"))
    assert b"403" in desk.ask(call("/gateway2/v1/messages"))
    assert [each.split(b" ")[1] for each in desk.service.heard] == [b"/gateway/v1/messages"]


def test_a_second_request_on_the_same_connection_is_never_carried(make_desk: MakeDesk) -> None:
    desk = make_desk()
    answer = desk.ask(call() + call("/v1/messages/count_tokens"), call("/v1/files"))
    assert answer.count(b"HTTP/1.1 ") == 1
    assert len(desk.service.heard) == 1
    assert b"count_tokens" not in desk.service.heard[0]
