"""Probes are asked side by side; one that hangs, fails or is broken is a line, and keeps nobody waiting."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Iterator

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import side_by_side
from autopilot.daemon.checkup.check import ok
from autopilot.daemon.checkup.probe import Limit, Probe, Takes
from autopilot.schemas.checkup import Area, Check
from autopilot.schemas.errors import ConfigError

CLOCK = SystemClock()


def probe(name: str, look: object, *, within_s: float = 20.0, scope: str = "host") -> Probe:
    assert callable(look)
    return Probe(name=name, takes=Takes.LOOK, area=Area.NIGHT, look=look, within_s=within_s, scope=scope)


def fine(_: Limit) -> Iterable[Check]:
    return [ok("fine", "all well")]


def test_lines_come_in_the_order_of_the_probes_with_their_area_and_scope() -> None:
    def second(_: Limit) -> Iterator[Check]:
        yield ok("one", "1")
        yield ok("two", "2")

    lines = side_by_side.look([probe("fine", fine), probe("more", second, scope="agent:a")], CLOCK)
    assert [(line.name, line.area, line.scope) for line in lines] == [
        ("fine", "night", "host"),
        ("one", "night", "agent:a"),
        ("two", "night", "agent:a"),
    ]


def test_all_are_under_way_at_the_same_time() -> None:
    meeting = threading.Barrier(3)

    def meet(_: Limit) -> Iterable[Check]:
        meeting.wait(20)  # broken, were they asked one after the other
        return [ok("met", "")]

    lines = side_by_side.look([probe(f"p{n}", meet) for n in range(3)], CLOCK)
    assert not any(line.blocks for line in lines)


def test_a_probe_that_hangs_is_a_verdict_and_what_it_began_is_told_to_end() -> None:
    ended = threading.Event()

    def hang(limit: Limit) -> Iterable[Check]:
        while not limit.should_stop():
            threading.Event().wait(0.01)
        ended.set()
        return [ok("late", "too late to count")]

    hanging, other = side_by_side.look([probe("stuck", hang, within_s=0.2), probe("fine", fine)], CLOCK)
    assert (hanging.name, hanging.blocks) == ("stuck", True)
    assert "no answer within 0.2 s" in hanging.evidence
    assert hanging.cure
    assert not other.blocks
    assert ended.is_set()


def test_one_without_which_the_night_can_begin_is_a_warning_when_it_hangs() -> None:
    def hang(limit: Limit) -> Iterable[Check]:
        while not limit.should_stop():
            threading.Event().wait(0.01)
        return []

    lock = dataclasses.replace(probe("sleep lock", hang, within_s=0.1), is_vital=False)
    (line,) = side_by_side.look([lock], CLOCK)
    assert (line.verdict, bool(line.cure)) == ("warning", True)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConfigError("broken", "the file is broken", hint="mend it"), "the file is broken"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (ZeroDivisionError("division by zero"), "bug: the question itself broke"),
    ],
)
def test_whatever_goes_wrong_in_a_probe_is_its_own_line(error: Exception, told: str) -> None:
    def fail(_: Limit) -> Iterable[Check]:
        raise error

    failed, other = side_by_side.look([probe("failing", fail), probe("fine", fine)], CLOCK)
    assert (failed.name, failed.blocks, bool(failed.cure)) == ("failing", True, True)
    assert told in failed.evidence
    assert not other.blocks


def test_who_is_interrupted_lets_every_probe_clear_up_first(monkeypatch: pytest.MonkeyPatch) -> None:
    cleared: list[str] = []

    def slow(limit: Limit) -> Iterable[Check]:
        while not limit.should_stop():
            threading.Event().wait(0.01)
        cleared.append("rehearsal")
        return []

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(side_by_side.Asked, "lines", interrupted)
    with pytest.raises(KeyboardInterrupt):
        side_by_side.look([probe("slow", slow)], CLOCK)
    assert cleared == ["rehearsal"]
