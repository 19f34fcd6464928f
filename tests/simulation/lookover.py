"""The daemon's look over the machine in a week: the product's own questions, put to the world.

Only what they ask for outside of us is played: the key ring, the remotes, the agent's account. What is looked
at of this very machine (a cell, a program) is left out: it is no part of the world.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from autopilot.config import secrets
from autopilot.config.gitfault import GitError
from autopilot.daemon import probing
from autopilot.daemon.checkup import alive, lines, remote, side_by_side
from autopilot.daemon.checkup.probe import Limit, Purpose
from autopilot.daemon.checkup.scene import Runner, Scene
from autopilot.runner.agents.adapter import AgentReport
from autopilot.schemas.checkup import Check, Checkup
from autopilot.schemas.run import Outcome
from tests.simulation.ends import Patch, Script
from tests.simulation.table import Process, ended

if TYPE_CHECKING:
    from tests.simulation.week import Week

CREDENTIAL = "forge"
_SHA = b"0123456789abcdef0123456789abcdef01234567\trefs/heads/main\n"
_AGAIN_S, _FIRST_ANSWER_S = 600.0, 600.0
"""Instead of 60 s and 45 s: fewer looks, and an answer is heard at the watch's next step, late here."""


def look_over(week: Week, process: Process, report: Path) -> None:
    """Make a look over the machine of a process."""
    process.script = _look(week, report)
    process.on_term = ended()
    process.due_ms = week.clock.awake_ms + week.chance.between(500, 20_000)


def _look(week: Week, report: Path) -> Script:
    found = tuple(_found(week))
    yield week.chance.between(500, 20_000)
    if week.disk_is_full and week.full != "low":
        return 1
    told = Checkup(go=not any(line.blocks for line in found), checks=found)
    report.write_text(told.model_dump_json())
    return 0


def _found(week: Week) -> Iterator[Check]:
    us = Runner(who="the daemon", environment={}, is_us=True)
    scene = Scene(paths=week.paths, clock=week.clock, settings=week.settings, runner=us)
    for probe in lines.of_configuration(scene):
        if Purpose.TICK in probe.asked_by:
            said = side_by_side.asked(probe, Limit(week.clock, week.clock.monotonic_s() + probe.within_s))
            yield from side_by_side._dressed(said, probe)  # noqa: SLF001 - on this thread: the world has one


def around_look(week: Week) -> tuple[Patch, ...]:
    """What the questions ask for, as the world has it."""

    def account(spec: Any, _: Scene, limit: Limit) -> Iterator[Check]:
        del limit
        said = AgentReport(outcome=None, code="", message="")
        if week.is_signed_out:
            said = replace(
                said,
                outcome=Outcome.CREDENTIAL,
                code="agent-unauthorized",
                message="its key is refused",
                hint="sign in anew",
            )
        yield alive.judged(f"account of {spec.name}", said)

    def git(*_: object, **__: object) -> Any:
        return SimpleNamespace(run=run)

    def run(*_: object, **__: object) -> bytes:
        if week.is_cut_off:
            raise GitError("git-network", "the remote does not answer", hint="see to the network")
        return _SHA

    return (
        (secrets, "status", lambda _: "locked" if week.is_locked else "readable"),
        (alive, "alive", account),
        (remote, "Git", git),
        (probing, "_AGAIN_S", _AGAIN_S),
        (probing, "FIRST_ANSWER_S", _FIRST_ANSWER_S),
    )
