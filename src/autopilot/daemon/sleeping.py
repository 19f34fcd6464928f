"""What a sleep of the machine cost: taken down once, and not laid at the door of a run that it broke.

Must not measure time itself (`clockwork.py` does), nor wake or keep awake anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon import demand, windows
from autopilot.daemon.store import nights, queries_host, queries_runs
from autopilot.schemas.run import Outcome, RunResult
from autopilot.schemas.units import MS_PER_S, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.config.settings import Settings
    from autopilot.daemon.clockwork import Passed
    from autopilot.daemon.decide import RunReport
    from autopilot.daemon.shop import Shop
    from autopilot.daemon.store.nights import Sleep
    from autopilot.daemon.store.rows import Switch

CODE = "interrupted-by-sleep"
GRACE_S = 300.0
"""Beyond the silence limit, seconds by the wall: an agent whose connections died hangs until that bites."""
_FAILURES = frozenset({Outcome.AGENT_FAILED, Outcome.TIMED_OUT})
_OWN_DOING = frozenset(
    {
        *("agent-wall", "agent-no-progress", "agent-output-ceiling", "agent-gave-up"),
        *("agent-max-turns", "agent-prompt-too-long", "agent-rate-limited", "resource-limit"),
    }
)
"""Failures that say their own reason, which no sleep explains."""


def record(shop: Shop, passed: Passed) -> bool:
    """Take down that the machine slept: from when, how long, and what was under way."""
    if not passed.slept_ms:
        return True
    ended_ms = passed.now_ms - passed.awake_ms
    started_ms = ended_ms - passed.slept_ms
    with shop.store.read() as conn:
        switch = queries_host.switch(conn)
        runs = [live.attempt.run_id for live in queries_runs.running(conn)]
        runs += [live.publication.id for live in queries_runs.publishing(conn)]
    lost_ms = _lost_ms(shop.settings, switch, started_ms, ended_ms)
    slept = nights.Sleep(
        started_ms=started_ms, slept_ms=passed.slept_ms, lost_ms=lost_ms, runs=tuple(sorted(runs))
    )
    nights.record_sleep(shop.store, slept)
    return True


def _lost_ms(settings: Settings, switch: Switch, from_ms: int, to_ms: int) -> int:
    """Give how much of a stretch lay in hours in which tickets might have been started."""
    if not switch.is_on:
        return 0
    schedule = None if switch.ignore_window else demand.schedule_of(settings)
    until_ms = to_ms if switch.until_ms is None else min(to_ms, switch.until_ms)
    return windows.open_between_ms(schedule, from_ms, until_ms)


def of_run(shop: Shop, run_id: str, *, since_ms: int) -> tuple[Sleep, ...]:
    """Give the stretches that a run has slept through since it started."""
    with shop.store.read() as conn:
        return tuple(slept for slept in nights.sleeps(conn, since_ms) if run_id in slept.runs)


def fair(report: RunReport, slept: Iterable[Sleep], *, silence_s: float) -> RunReport:
    """Judge a run by what it did: one that failed just after the machine woke is given back, and paid for.

    Args:
        report: what the run left.
        slept: the stretches that it slept through.
        silence_s: how long its agent may be silent, in seconds awake.
    """
    if not isinstance(report, RunResult):
        return report
    if report.outcome not in _FAILURES or report.code in _OWN_DOING:
        return report
    grace_ms = round((silence_s + GRACE_S) * MS_PER_S)
    near = [each for each in slept if 0 <= report.finished_ms - each.ended_ms <= grace_ms]
    if not near:
        return report
    length = format_duration(near[-1].slept_ms / MS_PER_S)
    message = f"interrupted by sleep: the machine slept for {length} while it worked; then: {report.message}"
    hint = "no attempt was used; `autopilot status` shows whether this machine can be kept awake"
    changes = {"outcome": Outcome.STOPPED, "code": CODE, "message": message, "hint": hint}
    return report.model_copy(update=changes)
