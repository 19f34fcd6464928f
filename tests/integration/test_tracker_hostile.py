"""Trackers that do not behave: no token leaves for another host, and no answer takes memory or time."""

import gzip
from contextlib import AbstractContextManager

import pytest

from autopilot.config.clock import SystemClock
from autopilot.publish.answers import Lost
from autopilot.publish.askpass import Access
from autopilot.publish.forges.github import GitHubForge
from autopilot.publish.trackers.tracker import Tracker
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.tracking import TrackerSpec
from tests.support.hostile_server import HostileServer
from tests.support.trackers import opened

TOKEN = "dummy-token"
KINDS = ("github", "jira")
JSON = {"Content-Type": "application/json"}


def tracker(kind: str, server: HostileServer, *, timeout_s: float = 10.0) -> AbstractContextManager[Tracker]:
    spec = TrackerSpec.model_validate({"kind": kind, "name": kind, "url": server.url, "project": "o/r"})
    return opened(spec, TOKEN, timeout_s=timeout_s)


def refusal(kind: str, server: HostileServer, *, timeout_s: float = 10.0) -> AutopilotError:
    with (
        tracker(kind, server, timeout_s=timeout_s) as opened_tracker,
        pytest.raises(AutopilotError) as raised,
    ):
        opened_tracker.read("7" if kind == "github" else "ABC-7")
    assert raised.value.hint
    assert TOKEN not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_named_and_not_followed(kind: str, status: int) -> None:
    with HostileServer(200, JSON, b"{}") as other:
        with HostileServer(status, {"Location": f"{other.url}/stolen"}) as server:
            assert refusal(kind, server).code == "tracker-moved"
            assert len(server.asked) == 1
        assert other.asked == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_without_an_end_is_cut_and_named(kind: str) -> None:
    with HostileServer(200, JSON, b" " * 65536, is_endless=True) as server:
        assert refusal(kind, server).code == "tracker-answer-too-large"


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_drips_is_given_up_by_the_whole_time_and_not_by_each_piece(kind: str) -> None:
    with HostileServer(200, JSON, b" ", is_endless=True, pause_s=0.05) as server:
        assert refusal(kind, server, timeout_s=0.4).code == "tracker-too-slow"


@pytest.mark.parametrize("kind", KINDS)
def test_headers_that_drip_are_given_up_by_the_whole_time_too(kind: str) -> None:
    with HostileServer(200, JSON, b"A: b\r\n", has_endless_headers=True, pause_s=0.05) as server:
        assert refusal(kind, server, timeout_s=0.4).code == "tracker-too-slow"


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_silent_is_given_up(kind: str) -> None:
    with HostileServer(200, JSON, b"{}", pause_s=30) as server:
        assert refusal(kind, server, timeout_s=0.4).code == "tracker-too-slow"


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_answer_is_not_unpacked(kind: str) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    with HostileServer(200, {**JSON, "Content-Encoding": "gzip"}, bomb) as server:
        assert refusal(kind, server).code == "tracker-answer-unreadable"
        (asked,) = server.asked
        assert asked["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", [b"<html>sign in</html>", b"", b"\xff\xfe", b"null", b"[]", b'{"a":' * 5000])
def test_what_is_no_issue_is_named(kind: str, body: bytes) -> None:
    with HostileServer(200, JSON, body) as server:
        assert refusal(kind, server).code == "tracker-answer-unreadable"


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_there_is_named(kind: str) -> None:
    with HostileServer(200, JSON) as server:
        pass
    assert refusal(kind, server).code == "tracker-unavailable"


@pytest.mark.parametrize(
    ("headers", "piece", "pause_s"),
    [
        (JSON, b" " * 1_000_000, 0),
        (JSON, b" ", 0.05),
        ({**JSON, "Content-Encoding": "gzip"}, gzip.compress(b" " * 50_000_000), 0),
    ],
    ids=["endless", "dripping", "packed"],
)
def test_a_forge_is_bounded_in_the_same_way(headers: dict[str, str], piece: bytes, pause_s: float) -> None:
    with (
        HostileServer(200, headers, piece, is_endless=True, pause_s=pause_s) as server,
        GitHubForge(server.url, "o/r", Access({}, TOKEN), clock=SystemClock(), timeout_s=0.4) as forge,
        pytest.raises(Lost) as raised,
    ):
        forge.get(1)
    assert "(GET pulls: " in raised.value.what
    assert raised.value.hint
    assert TOKEN not in str(raised.value)
