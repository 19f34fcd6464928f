"""Says in whose session the machine is looked over: a service has another key ring, HOME and proxies.

Must not look at anything: who starts the runs is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.checkup.check import ok
from autopilot.daemon.checkup.probe import Probe, Purpose, Takes, one
from autopilot.schemas.checkup import Area

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.daemon.checkup.scene import Runner
    from autopilot.schemas.checkup import Check

NAME = "session"
_BY_SESSION = frozenset({Takes.NETWORK, Takes.PROGRAM, Takes.TESTS, Takes.TRIAL})
"""What may turn out otherwise elsewhere, although it is given the variables of whoever starts the runs."""


def probe(runner: Runner, others: Iterable[Probe]) -> Probe:
    """Give the question in whose session the others are asked."""
    alone = [each.name for each in others if each.takes in _BY_SESSION and Purpose.TICK not in each.asked_by]
    return Probe(
        name=NAME,
        takes=Takes.LOOK,
        area=Area.SERVICE,
        look=one(lambda: line(runner, alone)),
        is_vital=False,
    )


def line(runner: Runner, alone: Iterable[str]) -> Check:
    """Say whose session it is, and which lines nobody asks again in that of whoever starts the runs."""
    if runner.is_us:
        return ok(NAME, "all is asked in this terminal, which starts the daemon")
    what = f"all is asked in this terminal, with PATH and variables of {runner.who}"
    again = "what holds a run is asked again in its own session while it is on"
    return ok(NAME, f"{what}; {again}, and in this one alone: {', '.join(sorted(alone))}")
