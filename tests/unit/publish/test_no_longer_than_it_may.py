"""A request is waited for no longer than it may take, and one that nobody waits for does not begin."""

from __future__ import annotations

import threading

import httpx
import pytest

from autopilot.publish.deadline import LateError, Turn, within
from tests.support.wait import wait_until


def sends(turn: Turn, method: bytes = b"POST") -> None:
    request = type("Request", (), {"method": method})()
    turn.trace("http11.send_request_headers.started", {"request": request})


def test_the_answer_is_given() -> None:
    assert within(30, lambda _: "an answer") == "an answer"


def test_one_that_had_begun_may_have_been_sent() -> None:
    is_over = threading.Event()

    def ask(turn: Turn) -> bool:
        sends(turn)
        return is_over.wait(30)

    with pytest.raises(LateError) as raised:
        within(0.1, ask)
    is_over.set()
    assert raised.value.has_begun


@pytest.mark.parametrize("way", ["nothing", "a proxy is asked for the way"])
def test_one_that_had_not_begun_never_does(way: str) -> None:
    is_over, outcome = threading.Event(), []
    has_ended = threading.Event()

    def ask(turn: Turn) -> bool:
        if way != "nothing":
            sends(turn, b"CONNECT")
        is_over.wait(30)
        try:
            sends(turn)
        except httpx.ConnectTimeout as exc:
            outcome.append(str(exc))
        has_ended.set()
        return True

    with pytest.raises(LateError) as raised:
        within(0.1, ask)
    is_over.set()
    assert has_ended.wait(30)
    assert (raised.value.has_begun, outcome) == (False, ["nobody waits for it any more"])


def test_one_that_breaks_is_no_late_answer_and_how_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda told: printed.append(told.exc_type))

    def ask(_: Turn) -> str:
        raise KeyError("x")

    with pytest.raises(RuntimeError, match="the request broke"):
        within(30, ask)
    wait_until(lambda: printed == [KeyError], 30, "the thread has printed how it broke")
