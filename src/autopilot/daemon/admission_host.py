"""What keeps every ticket from starting: switch, hours, money, machine. Pure. See `admission.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.daemon import breaker, budget, windows
from autopilot.schemas.ticket import Hold
from autopilot.schemas.units import GIB, format_usd, iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import Breaker, StoreFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDemand:
    """What the answer to any ticket depends on; gathered once per tick."""

    now_ms: int
    facts: StoreFacts
    rules: Rules
    charges: tuple[tuple[int, int], ...] = ()
    """When (UTC epoch ms) each run of the last 24 hours ended and what it was charged, the oldest first;
    looked at where the money is the reason."""
    schedule: windows.Schedule | None = None
    """None: at any hour."""
    free_disk_bytes: int | None = None
    """None: could not be read; not held for that."""
    free_memory_bytes: int | None = None
    """None: could not be read; not held for that."""
    load_per_cpu: float | None = None
    """Of five minutes. None: could not be read; not held for that."""
    probed: tuple[Hold, ...] = ()
    """What a look over the machine, its agents and repositories has found."""


def host_holds(demand: HostDemand) -> tuple[Hold, ...]:
    """Name everything that keeps any ticket from starting; the one a person notices first comes first."""
    found = [check(demand) for check in _CHECKS]
    seen = (hold for hold in demand.probed if hold.scope == breaker.HOST)
    return (*(hold for hold in found if hold is not None), *seen)


def breaker_hold(row: Breaker, now_ms: int) -> Hold | None:
    """Name the hold of one breaker, if it lets nothing through now."""
    if breaker.admits(row, now_ms) != "refused":
        return None
    series = f"{row.failures} attempts in a row produced nothing ({row.failure_class})"
    cause = series if row.probe_run_id is None else f"{series}; {row.probe_run_id} is the probe"
    return Hold(
        name="breaker-open",
        scope=row.scope,
        cause=cause,
        since_ms=now_ms if row.opened_ms is None else row.opened_ms,
        cure=f"mend the cause, then `autopilot breaker reset {row.scope}`; or wait for the probe",
        clears_ms=row.cooldown_until_ms if row.probe_run_id is None else None,
    )


def _hold(demand: HostDemand, name: str, cause: str, cure: str, *, clears_ms: int | None = None) -> Hold:
    return Hold(
        name=name, scope=breaker.HOST, cause=cause, since_ms=demand.now_ms, cure=cure, clears_ms=clears_ms
    )


def _switch_off(demand: HostDemand) -> Hold | None:
    switch = demand.facts.switch
    if switch.may_launch(demand.now_ms):
        return None
    if switch.is_on and switch.until_ms is not None:
        cause = f"it was on until {iso_utc(switch.until_ms)}"
    else:
        cause = f"switched off by {switch.by}"
    return _hold(demand, "switch-off", cause, "`autopilot on`")


def _outside_window(demand: HostDemand) -> Hold | None:
    schedule = demand.schedule
    if schedule is None or demand.facts.switch.ignore_window or windows.is_open(schedule, demand.now_ms):
        return None
    opens_ms = windows.opens_ms(schedule, demand.now_ms)
    cause = f"nothing starts outside {schedule.window}"
    return _hold(demand, "outside-window", cause, "`autopilot on --now`", clears_ms=opens_ms)


def _stop_percent(demand: HostDemand) -> Hold | None:
    spending, rules = demand.facts.spending, demand.rules
    if budget.is_below_stop(spending, rules):
        return None
    cause = (
        f"{format_usd(spending.spent_micro_usd)} spent in 24 hours: {rules.stop_launching_percent} % of"
        f" {format_usd(rules.cost_ceiling_micro_usd)}"
    )
    return _money_hold(demand, "stop-percent", cause)


def _cost_ceiling(demand: HostDemand) -> Hold | None:
    spending, rules = demand.facts.spending, demand.rules
    if budget.fits_ceiling(spending, rules):
        return None
    cause = (
        f"{format_usd(spending.settled_micro_usd)} spent in 24 hours and"
        f" {format_usd(spending.reserved_micro_usd)} reserved; one more run may cost"
        f" {format_usd(rules.run_ceiling_micro_usd)} of {format_usd(rules.cost_ceiling_micro_usd)}"
    )
    return _money_hold(demand, "cost-ceiling", cause)


def _money_hold(demand: HostDemand, name: str, cause: str) -> Hold:
    """Say when one more run is allowed, which is rarely when the first charge is a day old."""
    spending = demand.facts.spending
    frees_ms = budget.frees_ms(spending, demand.charges, demand.rules)
    is_live = spending.reserved_micro_usd > 0 or spending.live_spent_micro_usd > 0
    if frees_ms is None and not is_live:
        return _hold(demand, name, cause, "raise cost_ceiling_usd, or lower run_ceiling_usd: it never fits")
    # After a clock was set ahead, a charge counts for longer than its stamp says.
    clears_ms = frees_ms if frees_ms is not None and frees_ms > demand.now_ms else None
    return _hold(demand, name, cause, "raise cost_ceiling_usd, or wait", clears_ms=clears_ms)


def _host_breaker(demand: HostDemand) -> Hold | None:
    row = next((row for row in demand.facts.breakers if row.scope == breaker.HOST), None)
    return None if row is None else breaker_hold(row, demand.now_ms)


def _disk_low(demand: HostDemand) -> Hold | None:
    return _floor(demand, "disk-low", demand.free_disk_bytes, demand.rules.min_free_disk_bytes)


def _memory_low(demand: HostDemand) -> Hold | None:
    return _floor(demand, "memory-low", demand.free_memory_bytes, demand.rules.min_free_memory_bytes)


def _floor(demand: HostDemand, name: str, free_bytes: int | None, least_bytes: int) -> Hold | None:
    if free_bytes is None or free_bytes >= least_bytes:
        return None
    what = name.partition("-")[0]
    cause = f"{free_bytes / GIB:.1f} GiB of {what} free; at least {least_bytes / GIB:.1f} GiB are kept"
    return _hold(demand, name, cause, f"free some {what}, or lower min_free_{what}_gib")


def _load_high(demand: HostDemand) -> Hold | None:
    load, most = demand.load_per_cpu, demand.rules.max_load_per_cpu
    if load is None or not 0 < most < load:
        return None
    cause = f"for five minutes {load:.1f} processes wanted each processor; nothing starts above {most:g}"
    return _hold(demand, "load-high", cause, "clears as it falls; or raise max_load_per_cpu (0 = no limit)")


def _slots_full(demand: HostDemand) -> Hold | None:
    limit, running = demand.rules.max_parallel_agents, len(demand.facts.running)
    if limit == 0 or running < limit:
        return None
    return _hold(demand, "slots-full", f"{running} of {limit} runs are under way", "clears when one ends")


def _launch_stagger(demand: HostDemand) -> Hold | None:
    last_ms = demand.facts.last_launch_ms
    if last_ms is None:
        return None
    clears_ms = last_ms + demand.rules.launch_stagger_ms
    # A clock that was set back must not hold the queue until it catches up.
    if not last_ms <= demand.now_ms < clears_ms:
        return None
    return _hold(
        demand, "launch-stagger", "a run has just been started", "clears by itself", clears_ms=clears_ms
    )


_CHECKS: tuple[Callable[[HostDemand], Hold | None], ...] = (
    _switch_off,
    _outside_window,
    _host_breaker,
    _stop_percent,
    _cost_ceiling,
    _disk_low,
    _memory_low,
    _load_high,
    _slots_full,
    _launch_stagger,
)
