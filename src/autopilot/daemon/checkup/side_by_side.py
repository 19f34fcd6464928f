"""Asks probes side by side, each on a thread of its own and with its own deadline.

A probe that hangs, fails or is broken is a line like any other. Must not let one keep the others, or whoever
asks, waiting. Source: docs/decisions/0146.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from autopilot.config import threads
from autopilot.daemon.checkup.check import blocked, warning
from autopilot.daemon.checkup.probe import Limit
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from autopilot.config.clock import Clock
    from autopilot.daemon.checkup.probe import Probe
    from autopilot.schemas.checkup import Check

_LAST_WORDS_S = 20.0
"""What is late, or interrupted, ends its own children before we go on."""


class Asked:
    """One probe under way."""

    def __init__(self, probe: Probe, clock: Clock) -> None:
        self.probe = probe
        self.limit = Limit(clock, clock.monotonic_s() + probe.within_s)
        self.has_answered = threading.Event()
        self._lines: tuple[Check, ...] = ()

    def start(self) -> None:
        thread = threading.Thread(target=self._ask, name=f"probe {self.probe.name}", daemon=True)
        try:
            threads.start(thread)
        except AutopilotError as error:
            self._answer((blocked(self.probe.name, error.what, error.hint),))

    def lines(self) -> tuple[Check, ...]:
        """Wait until it has answered, or its time is over."""
        if self.has_answered.wait(self.limit.left_s):
            return self._lines
        self.limit.end()
        return _dressed((no_answer(self.probe),), self.probe)

    def _ask(self) -> None:
        self._answer(asked(self.probe, self.limit))

    def _answer(self, lines: Iterable[Check]) -> None:
        self._lines = _dressed(lines, self.probe)
        self.has_answered.set()


def look(probes: Sequence[Probe], clock: Clock) -> tuple[Check, ...]:
    """Ask them all; gives their lines in the order of the probes."""
    under_way = [Asked(probe, clock) for probe in probes]
    for each in under_way:
        each.start()
    try:
        lines = [line for each in under_way for line in each.lines()]
    except BaseException:  # somebody does not want to wait
        for each in under_way:
            each.limit.end()
        _last_words(under_way)
        raise
    _last_words(each for each in under_way if each.limit.should_stop())
    return tuple(lines)


def _last_words(late: Iterable[Asked]) -> None:
    """Let them clear up what they have begun; one that cannot even do that is left behind."""
    until_s = None
    for each in late:
        now_s = each.limit.clock.monotonic_s()
        until_s = until_s or now_s + _LAST_WORDS_S
        each.has_answered.wait(max(0.0, until_s - now_s))


def asked(probe: Probe, limit: Limit) -> tuple[Check, ...]:
    """Ask one probe; whatever goes wrong in it is its line."""
    try:
        return tuple(probe.look(limit))
    except AutopilotError as error:
        return refused(probe, error)
    except OSError as error:
        what = f"this cannot be looked at: {error}"
        return (blocked(probe.name, what, "see to what it names, then ask again"),)
    except Exception as error:
        what = f"bug: the question itself broke: {error!r}"
        return (blocked(probe.name, what, f"report it; or autopilot on --force '{probe.name}'"),)


def refused(probe: Probe, error: AutopilotError) -> tuple[Check, ...]:
    """Give the line of a probe that an error of ours has ended."""
    hint = error.hint or "mend what it names, then ask again"
    return _dressed((blocked(probe.name, error.what, hint),), probe)


def no_answer(probe: Probe) -> Check:
    """Give the line of a probe that hangs."""
    line = blocked if probe.is_vital else warning
    what = f"no answer within {probe.within_s:g} s"
    return line(probe.name, what, "ask again; if it stays so, see what hangs there")


def _dressed(lines: Iterable[Check], probe: Probe) -> tuple[Check, ...]:
    about = {"area": probe.area, "scope": probe.scope}
    return tuple(
        line.model_copy(update={**about, "hold": probe.hold if line.blocks else ""}) for line in lines
    )
