"""Through the proxy of this host, past it to this machine, or nowhere: told before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from autopilot.config.secrets import variable_for
from autopilot.publish.delivery import deliver
from autopilot.publish.tracker_questions import read_issue
from autopilot.publish.wire import NoAnswerError, Wire
from autopilot.schemas.delivery import ChannelSpec, DeliverySpec, IssueTarget
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.tracking import IssueSpec, TrackerSpec
from tests.support.host_proxy import HostProxy
from tests.support.receiver import PATH, Receiver
from tests.support.small_net import Pages

SOCKS = "socks5h://user:hunter2@127.0.0.1:1080"
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE")
WEBHOOK = ChannelSpec(name="team", kind="webhook", credential="team-hook", limit_s=5)


@pytest.fixture(autouse=True)
def no_proxy_of_whoever_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv(variable_for("tracker"), "the-token-of-the-tracker")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostProxy]:
    """Make this machine one that gets out by a proxy, and by no exception."""
    with HostProxy() as proxy:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.url.replace("//", "//me:p%40ss@"))
        yield proxy


def wire(url: str) -> Wire:
    return Wire(url, {"Authorization": "Bearer x"}, clock=SystemClock(), timeout_s=5, most_bytes=1000)


def issue(url: str) -> IssueTarget:
    tracker = TrackerSpec(kind="github", name="github", url=url, project="o/r", credential="tracker")
    return IssueTarget(tracker=tracker, reference="7", known_by="https://forge.example/o/r/pull/1")


def spec(folder: Path, to: ChannelSpec | IssueTarget) -> DeliverySpec:
    return DeliverySpec(
        id="1-1",
        report=folder / "report.json",
        workdir=folder / "work",
        mark=folder / "mark",
        to=to,
        text="hello https://forge.example/o/r/pull/1\n",
        roots=(),
        created_ms=1,
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_what_is_for_this_machine_is_handed_to_no_proxy(
    tmp_path: Path, proxy: HostProxy, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Webhook, tracker or forge, and git: each would have shown its credential there, in clear."""
    with Receiver() as receiver, Pages() as server:
        port = receiver.address.rpartition(":")[2].partition("/")[0]
        monkeypatch.setenv(variable_for("team-hook"), f"http://{host}:{port}{PATH}")
        done = deliver(spec(tmp_path, WEBHOOK), clock=SystemClock(), folder=tmp_path)
        assert (done.outcome, len(receiver.calls)) == ("sent", 1)
        with wire(f"http://{host}:{server.server_port}") as way:
            assert way.ask("GET", "/asked").status_code == 200
        for user_config in (False, True):
            git = Git(SystemClock(), tmp_path / "git", timeout_s=20, user_config=user_config)
            git.run("ls-remote", f"http://{host}:{server.server_port}/of-git")
        asked = [path.partition("?")[0] for _, path, *_ in server.asked]
        assert asked[0] == "/asked"
        assert asked.count("/of-git/info/refs") == 2
    assert proxy.heard == []


def test_another_server_is_reached_through_the_proxy_with_its_login(proxy: HostProxy) -> None:
    with wire("http://tracker.example") as way:
        assert way.ask("GET", "/asked").status_code == 200
    with wire("https://tracker.example") as way, pytest.raises(NoAnswerError):  # it speaks no TLS
        way.ask("GET", "/asked")
    plain, tunnel = proxy.heard
    assert plain.startswith(b"GET http://tracker.example/asked HTTP/1.1\r\n")
    assert tunnel.startswith(b"CONNECT tracker.example:443 HTTP/1.1\r\n")
    assert b"Bearer" not in tunnel
    for heard in proxy.heard:
        assert b"\r\nproxy-authorization: basic bwu6cebzcw==\r\n" in heard.lower()


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("ALL_PROXY", SOCKS, "proxy-unusable"), ("SSL_CERT_FILE", "/nowhere/ca.pem", "certificates-unusable")],
)
def test_what_cannot_get_out_is_said_before_the_mark_is_laid_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, code: str
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setenv(variable_for("team-hook"), "https://hooks.example/services/T0/SECRET")
    for to in (WEBHOOK, issue("https://api.example")):
        done = deliver(spec(tmp_path, to), clock=SystemClock(), folder=tmp_path)
        assert (done.outcome, done.code) == ("not-sent", code)
        assert name in f"{done.message} {done.hint}"
        assert "hunter2" not in f"{done.message} {done.hint}"
        assert "SECRET" not in f"{done.message} {done.hint}"
        assert not (tmp_path / "mark").exists()


def test_a_question_that_cannot_get_out_is_the_operators_to_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", SOCKS)
    asked = IssueSpec(
        report=tmp_path / "r",
        workdir=tmp_path / "w",
        tracker=issue("https://api.example").tracker,
        reference="7",
    )
    told = read_issue(asked, clock=SystemClock(), folder=tmp_path)
    assert (told.acts, told.code) == ("operator", "proxy-unusable")
    with pytest.raises(ConfigError):
        wire("https://api.example")


def test_a_proxy_that_we_do_not_speak_to_is_in_nobodys_way_to_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", SOCKS)
    with Pages() as server, wire(server.url) as way:
        assert way.ask("GET", "/asked").status_code == 200
