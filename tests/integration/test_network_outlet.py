"""The outlet over real sockets: what passes, what does not, and that nothing sent to it can hurt a run."""

from __future__ import annotations

import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from autopilot.config.outward import Outward, Proxy
from autopilot.runner.network.line import Operator
from autopilot.runner.network.outlet import Gate, Outlet
from autopilot.runner.network.policy import Policy, reading_from
from autopilot.runner.network.refused import MAX_KINDS, Refused
from autopilot.runner.network.visit import MAX_SENT_BYTES
from tests.support.hellos import client_hello
from tests.support.small_net import Door, Pages, SmallNet, talk
from tests.support.town import DOCS, DOCS_TLS, NEAR, Town, tunnel
from tests.support.wait import wait_until


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with ExitStack() as stack:
        yield Town(tmp_path, stack)


@pytest.mark.covers("I01")
def test_a_page_of_a_listed_host_is_fetched(town: Town) -> None:
    answer = town.ask("GET http://docs.example/a?b HTTP/1.1\nHost: docs.example\nAccept: x\n\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"GET /a?b 0")
    assert town.net.connected == [DOCS]
    assert town.outlet.refusals.counts() == {}


def test_nothing_between_the_client_and_us_is_told_to_the_server(town: Town) -> None:
    town.ask(
        "GET http://DOCS.example/ HTTP/1.1\nHost: docs.EXAMPLE\nProxy-Authorization: Basic c2VjcmV0\n"
        "Proxy-Connection: keep-alive\nConnection: X-Hop\nX-Hop: 1\nUpgrade: websocket\nX-Own: 2\n\n"
    )
    _, _, headers, _ = town.pages.asked[0]
    assert headers == {"host": "docs.example", "connection": "close", "x-own": "2"}


def test_a_second_request_on_the_same_connection_is_never_carried(town: Town) -> None:
    smuggled = "GET http://docs.example/1 HTTP/1.1\nHost: docs.example\n\nPOST /2 HTTP/1.1\nHost: evil\n\n"
    assert town.ask(smuggled).count(b"HTTP/1.1 200") == 1
    assert [path for _, path, *_ in town.pages.asked] == ["/1"]


def test_a_tunnel_carries_tls_for_the_very_host_both_ways(town: Town) -> None:
    hello = client_hello("docs.example")
    answer = town.ask(tunnel("docs.example:443"), then=hello)
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n" + hello
    assert town.net.connected == [DOCS_TLS]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("hello for another host", "tls-other-name"),
        ("hello for nobody", "not-tls"),
        ("http", "not-tls"),
        ("ssh", "not-tls"),
        ("half a hello", "tls-broken-off"),
    ],
)
def test_a_tunnel_for_anything_but_tls_to_the_host_it_names_ends(town: Town, kind: str, code: str) -> None:
    then = {
        "hello for another host": client_hello("evil.example"),
        "hello for nobody": client_hello(None),
        "http": b"POST /collect HTTP/1.1\r\nHost: docs.example\r\n\r\n",
        "ssh": b"SSH-2.0-x\r\n",
        "half a hello": client_hello("docs.example")[:40],
    }
    town.ask(tunnel("docs.example:443"), then=then[kind])
    wait_until(lambda: town.codes() == [code], timeout_s=20, what="the refusal")
    assert town.tls.heard == b""


def test_only_the_agents_own_service_may_be_sent_much(town: Town) -> None:
    load = b"\x17" * (MAX_SENT_BYTES + 100_000)
    town.ask(tunnel("docs.example:443"), then=client_hello("docs.example") + load)
    wait_until(lambda: town.codes() == ["too-much-sent"], timeout_s=20, what="the refusal")
    hello = client_hello("api.example")
    answer = town.ask(tunnel("api.example:443"), then=hello + load)
    assert len(answer) == len(b"HTTP/1.1 200 Connection established\r\n\r\n" + hello + load)
    assert town.codes() == ["too-much-sent"]


@pytest.mark.covers("I01", "I04")
@pytest.mark.parametrize(
    ("request_text", "code"),
    [
        (tunnel("evil.example:443"), "host"),
        (tunnel("93.184.216.34:443"), "ip-literal"),
        (tunnel("docs.example:22"), "port"),
        (tunnel("docs.example.:443"), "trailing-dot"),
        ("GET http://evil.example/ HTTP/1.1\nHost: docs.example\n\n", "host-mismatch"),
        ("GET http://docs.example/ HTTP/1.1\nHost: evil.example\n\n", "host-mismatch"),
        ("POST http://docs.example/ HTTP/1.1\nHost: docs.example\nContent-Length: 1\n\nx", "method"),
        ("GET http://docs.example/ HTTP/1.1\nHost: docs.example\nContent-Length: 1\n\nx", "body"),
        (
            "GET http://docs.example/ HTTP/1.1\nHost: docs.example\nTransfer-Encoding: chunked\n\n0\n\n",
            "body",
        ),
        ("GET / HTTP/1.1\nHost: docs.example\n\n", "not-for-a-proxy"),
        ("CONNECT docs.example\x00.evil.example:443 HTTP/1.1\nHost: x\n\n", "malformed"),
        ("GET http://docs.example/ x HTTP/1.1\nHost: docs.example\n\n", "malformed"),
        ("GET http://docs.example/ HTTP/1.1\nHost: docs.example\nHost: evil.example\n\n", "malformed"),
        ("GET http://docs.example/ HTTP/2.0\nHost: docs.example\n\n", "malformed"),
        ("PRI * HTTP/2.0\n\nSM\n\n", "malformed"),
        ("\x05\x01\x00\n\n", "malformed"),
        ("GET http://docs.example/ HTTP/1.1\nHost: docs.example\nX: " + "x" * 200_000 + "\n\n", "malformed"),
    ],
)
def test_what_is_not_allowed_is_refused_noted_and_never_looked_up(
    town: Town, request_text: str, code: str
) -> None:
    answer = town.ask(request_text)
    assert answer.startswith(b"HTTP/1.1 403") or answer == b""  # unread rest: the answer may be cut off
    assert town.codes() == [code]
    assert (town.net.looked_up, town.net.connected) == ([], [])


@pytest.mark.parametrize("host", ["inside.example", "mixed.example", "metadata.example"])
def test_a_listed_name_that_leads_near_is_refused_after_it_was_looked_up(town: Town, host: str) -> None:
    answer = town.ask(f"GET http://{host}/ HTTP/1.1\nHost: {host}\n\n")
    assert b"X-Autopilot-Refused: private-address" in answer
    assert town.net.connected == []
    assert list(town.outlet.refusals.counts()) == [Refused(host, 80, "GET", "private-address")]


def test_a_name_is_looked_up_once_and_that_address_is_used(tmp_path: Path) -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])

    class Rebinding(SmallNet):
        def resolve(self, host: str, port: int) -> list[str]:
            return next(answers)

    with Pages() as pages:
        net = Rebinding(names={}, servers={DOCS: pages, ("127.0.0.1", 80): pages})
        gate = Gate(Policy(reading_from(["docs.example"])), Operator(net))
        with Outlet(tmp_path / "o", gate) as outlet:
            ask = b"GET http://docs.example/ HTTP/1.1\r\nHost: docs.example\r\n\r\n"
            assert talk(outlet.socket, ask).startswith(b"HTTP/1.1 200")
            assert b"private-address" in talk(outlet.socket, ask)
        assert net.connected == [DOCS]


def test_a_service_that_the_operator_named_may_be_near(town: Town) -> None:
    answer = town.ask("POST http://models.local/v1 HTTP/1.1\nHost: models.local\nContent-Length: 3\n\nabc")
    assert answer.endswith(b"POST /v1 3")
    assert town.net.connected == [NEAR]


def test_a_redirect_is_the_clients_to_follow_and_judged_again(town: Town) -> None:
    answer = town.ask("GET http://docs.example/away HTTP/1.1\nHost: docs.example\n\n")
    assert b"302" in answer
    assert town.net.looked_up == ["docs.example"]


@pytest.mark.parametrize("host", ["down.example", "gone.example"])
def test_a_listed_host_that_does_not_answer_is_no_refusal(town: Town, host: str) -> None:
    assert town.ask(f"GET http://{host}/ HTTP/1.1\nHost: {host}\n\n").startswith(b"HTTP/1.1 502")
    assert town.codes() == []


def test_a_connection_that_asks_nothing_is_no_refusal(town: Town) -> None:
    assert town.ask("") == b""
    assert town.codes() == []


def test_what_is_refused_is_told_once_counted_always_and_kept_within_bounds(town: Town) -> None:
    for _ in range(3):
        town.ask(tunnel("evil.example:443"))
    assert town.outlet.refusals.news() == (Refused("evil.example", 443, "CONNECT", "host"),)
    assert town.outlet.refusals.news() == ()
    assert list(town.outlet.refusals.counts().values()) == [3]
    for number in range(MAX_KINDS + 5):
        town.ask(tunnel(f"{number}.evil.example:443"))
    assert (len(town.outlet.refusals.counts()), town.outlet.refusals.rest) == (MAX_KINDS, 6)


def test_what_a_client_wrote_is_shown_harmless_and_short(town: Town) -> None:
    town.ask("CONNECT \u00ff`@everyone`" + "a" * 400 + ":443 HTTP/1.1\nHost: x\n\n")
    town.ask("GET http://x@[evil.example]" + "\\" * 400 + "/ HTTP/1.1\nHost: x\n\n")
    for refused in town.outlet.refusals.counts():
        assert len(refused.host) <= 253
        assert refused.host.isascii()
        assert refused.host.isprintable()


def test_a_long_answer_and_one_that_never_ends_pass_through(town: Town) -> None:
    assert len(town.ask("GET http://docs.example/long HTTP/1.1\nHost: docs.example\n\n")) > 1_000_000
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(30)
        client.connect(str(town.outlet.socket))
        client.sendall(b"GET http://docs.example/drip HTTP/1.1\r\nHost: docs.example\r\n\r\n")
        got = b""
        while not got.endswith(b"first"):
            got += client.recv(1000)


def test_when_it_closes_every_connection_is_cut_and_the_socket_is_gone(tmp_path: Path) -> None:
    before = threading.active_count()
    with ExitStack() as stack, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        town = Town(tmp_path, stack)
        client.settimeout(30)
        client.connect(str(town.outlet.socket))
        client.sendall(tunnel("api.example:443").replace("\n", "\r\n").encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(client_hello("api.example"))
        assert client.recv(1)
        town.outlet.__exit__(None, None, None)
        while client.recv(65536):
            pass
        assert not town.outlet.socket.exists()
    assert threading.active_count() <= before


def test_a_connection_on_which_nothing_moves_is_let_go(tmp_path: Path) -> None:
    with ExitStack() as stack:
        town = Town(tmp_path, stack, idle_s=0.1)
        answer = talk(
            town.outlet.socket, b"GET http://docs.example/drip HTTP/1.1\r\nHost: docs.example\r\n\r\n"
        )
        assert answer.endswith(b"first")


def test_more_connections_than_there_is_room_for_are_sent_away(tmp_path: Path) -> None:
    with Outlet(tmp_path / "o", Gate(Policy()), max_visits=1) as outlet:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as first:
            first.connect(str(outlet.socket))
            first.sendall(b"G")
            wait_until(
                lambda: talk(outlet.socket, b"").startswith(b"HTTP/1.1 503"), timeout_s=20, what="no room"
            )
        wait_until(
            lambda: b"403" in talk(outlet.socket, b"GET http://x.example/ HTTP/1.0\r\n\r\n"),
            timeout_s=20,
            what="room",
        )


def test_its_socket_is_for_this_user_only_and_may_lie_deep(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with Outlet(deep / "outlet.sock", Gate(Policy())) as outlet:
        assert stat.S_IMODE(outlet.socket.stat().st_mode) == 0o600


@pytest.mark.parametrize("is_tls", [False, True])
def test_the_hosts_own_proxy_is_used_and_its_login_stays_outside(tmp_path: Path, *, is_tls: bool) -> None:
    # The proxy of the host is another outlet, which knows the real way.
    with ExitStack() as stack:
        town = Town(tmp_path, stack)
        seen: list[bytes] = []
        door = stack.enter_context(Door(town.outlet.socket, seen))
        net = SmallNet(names={"proxy.corp": ["10.9.9.9"]}, servers={("10.9.9.9", 3128): door})
        proxy = Proxy("proxy.corp", 3128, "Basic bG9naW4=")
        operator = Operator(net, Outward(http=proxy, https=proxy))
        policy = Policy(reading_from(["docs.example"]))
        outlet = stack.enter_context(Outlet(tmp_path / "inner.sock", Gate(policy, operator)))
        if is_tls:
            hello = client_hello("docs.example")
            answer = talk(
                outlet.socket, tunnel("docs.example:443").replace("\n", "\r\n").encode(), then=hello
            )
            assert answer.endswith(hello)
        else:
            ask = b"GET http://docs.example/a HTTP/1.1\r\nHost: docs.example\r\n\r\n"
            answer = talk(outlet.socket, ask)
            assert answer.endswith(b"GET /a 0")
        assert b"Proxy-Authorization: Basic bG9naW4=" in seen[0]
        assert b"bG9naW4" not in answer
        assert net.looked_up == ["proxy.corp"]
