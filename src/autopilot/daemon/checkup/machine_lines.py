"""The list of what can be looked at without a configuration: arming, `doctor` and each tick ask from it.

Must not look at anything itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from autopilot.daemon.checkup import bounds, cell, guarding, host, leases, notices, power, versions
from autopilot.daemon.checkup.account import NAME, own_account
from autopilot.daemon.checkup.probe import ALWAYS, DOCTOR_ALONE, Probe, Takes, one
from autopilot.schemas.checkup import Area

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.scene import Runner

_SLOW_S = 120.0
_CHILD_S = 60.0


def first(paths: Paths) -> Probe:
    """Give what is asked before all others, which find the folder as this one leaves it."""
    return Probe(
        name="state", takes=Takes.CHANGE, area=Area.MACHINE, look=one(partial(host.state_folder, paths))
    )


def of_machine(paths: Paths, clock: Clock, runner: Runner) -> tuple[Probe, ...]:
    """Give what can be looked at without a configuration."""
    return (
        Probe(name="git", takes=Takes.LOOK, area=Area.MACHINE, look=one(partial(host.git_program, runner))),
        Probe(
            name="database",
            takes=Takes.QUEUE,
            area=Area.QUEUE,
            look=one(partial(host.database, paths, clock)),
            within_s=_SLOW_S,
        ),
        Probe(name="leases", takes=Takes.QUEUE, area=Area.QUEUE, look=lambda _: leases.overdue(paths, clock)),
        Probe(
            name="backups",
            takes=Takes.COPIES,
            area=Area.QUEUE,
            look=one(partial(host.backups, paths, clock)),
            within_s=_SLOW_S,
        ),
        Probe(
            name="sleep lock",
            takes=Takes.LOOK,
            area=Area.NIGHT,
            look=one(partial(power.sleep_lock, clock)),
            is_vital=False,
        ),
        Probe(name="sqlite", takes=Takes.LOOK, area=Area.QUEUE, look=one(host.sqlite)),
        *_of_cells(paths, clock),
        Probe(name=NAME, takes=Takes.LOOK, area=Area.MACHINE, look=one(own_account)),
        Probe(name="daemon", takes=Takes.LOOK, area=Area.SERVICE, look=one(partial(host.daemon, paths))),
        Probe(
            name="installations",
            takes=Takes.LOOK,
            area=Area.SERVICE,
            look=lambda _: versions.versions(paths, clock),
            asked_by=DOCTOR_ALONE,
            is_vital=False,
        ),
        Probe(
            name="logs",
            takes=Takes.LOOK,
            area=Area.CONFIGURATION,
            look=one(partial(notices.logs, paths)),
            asked_by=DOCTOR_ALONE,
        ),
    )


def _limits(paths: Paths, clock: Clock) -> Probe:
    return Probe(
        name="limits",
        takes=Takes.LOOK,
        area=Area.MACHINE,
        look=one(lambda: bounds.bounds(cell.wanted(paths), clock)),
        within_s=_CHILD_S,
        asked_by=DOCTOR_ALONE,
        is_vital=False,
    )


def _of_cells(paths: Paths, clock: Clock) -> tuple[Probe, ...]:
    """Give what is looked at of that in which agents and tests are locked up."""
    return (
        Probe(
            name="sandbox",
            takes=Takes.LOOK,
            area=Area.MACHINE,
            look=one(partial(cell.sandbox, paths, clock)),
            within_s=_CHILD_S,
            asked_by=ALWAYS,
            hold="sandbox-broken",
        ),
        _limits(paths, clock),
        Probe(
            name="guard",
            takes=Takes.LOOK,
            area=Area.MACHINE,
            look=lambda limit: [guarding.guard(clock, limit)],
            within_s=_CHILD_S,
        ),
    )
