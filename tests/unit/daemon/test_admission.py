"""Every hold by its name, with a cause and a cure; nothing is held without one."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from autopilot.daemon import admission
from autopilot.daemon.admission import Admit, Demand, HostDemand, Refuse
from autopilot.daemon.rules import Rules
from autopilot.daemon.store.rows import (
    AgentWindow,
    Attempt,
    Breaker,
    Dependency,
    LiveRun,
    Spending,
    StoreFacts,
    Switch,
)
from autopilot.daemon.windows import Schedule
from autopilot.schemas.machine import State
from tests.support import words
from tests.support.words import USD

NOW = 1_800_000_000_000  # 2027-01-15T08:00Z
MINUTE = 60_000
HOUR = 60 * MINUTE
GIB = 1024**3
NIGHT = Schedule("22:00-07:00", ZoneInfo("UTC"))
OPEN_BREAKER = Breaker(
    scope="host",
    state="open",
    failures=3,
    failure_class="bug",
    opened_ms=NOW - 1,
    cooldown_until_ms=NOW + HOUR,
    cooldown_ms=HOUR,
)

SWITCH = Switch(
    is_on=True,
    ignore_window=False,
    until_ms=None,
    off_mode="finish",
    drain_until_ms=None,
    changed_ms=0,
    by="me",
)
SPENDING = Spending(
    settled_micro_usd=0,
    reserved_micro_usd=0,
    live_spent_micro_usd=0,
    unknown_runs=0,
)
FACTS = StoreFacts(
    switch=SWITCH, spending=SPENDING, running=(), breakers=(), agent_windows=(), last_launch_ms=None
)
HOST = HostDemand(
    now_ms=NOW, facts=FACTS, rules=Rules(), free_disk_bytes=100 * GIB, free_memory_bytes=16 * GIB
)
QUEUED = words.ticket(State.QUEUED)
DEMAND = Demand(
    host=HOST, ticket=QUEUED, agent="claude", is_agent_known=True, is_repo_known=True, open_drafts=0
)


def live(short_id: int, repo: str = "other") -> LiveRun:
    ticket = words.ticket(id=f"T-{short_id}", short_id=short_id, repo=repo)
    attempt = Attempt(
        run_id=f"T-{short_id}-a1-0", ticket_id=ticket.id, no=1, session=1, agent="claude", repo=repo, fence=1,
        claim_token="x", state="running", pid=None, pid_started_ms=None, started_ms=NOW, finished_ms=None,
        outcome=None, code="", message="", reserved_micro_usd=USD, spent_micro_usd=0, spend_known=False,
        produced=None, failure_class=None, is_probe=False, ended_by=None, head=None, base_sha=None,
        lease_until_ms=None, boot=None, tokens=0,
    )  # fmt: skip
    return LiveRun(ticket, attempt)


def with_facts(**changes: object) -> Demand:
    return replace(DEMAND, host=replace(HOST, facts=replace(FACTS, **changes)))  # type: ignore[arg-type]


def with_host(**changes: object) -> Demand:
    return replace(DEMAND, host=replace(HOST, **changes))  # type: ignore[arg-type]


def with_ticket(**changes: object) -> Demand:
    return replace(DEMAND, ticket=QUEUED.model_copy(update=changes))


def with_money(**changes: object) -> Demand:
    return with_facts(spending=replace(SPENDING, **changes))  # type: ignore[arg-type]


def charged(*usd: int, reserved: int = 0, ago_h: int = 4) -> Demand:
    """Dollars of runs, of which the first ended so many hours ago and each an hour after the one before."""
    charges = tuple((NOW - (ago_h - number) * HOUR, each * USD) for number, each in enumerate(usd))
    spending = replace(SPENDING, settled_micro_usd=sum(usd) * USD, reserved_micro_usd=reserved * USD)
    return replace(DEMAND, host=replace(HOST, facts=replace(FACTS, spending=spending), charges=charges))


def window(resets_ms: int, probe: str | None = None) -> Demand:
    row = AgentWindow(
        agent="claude", since_ms=0, resets_ms=resets_ms, reason="5-hour limit", probe_run_id=probe
    )
    return with_facts(agent_windows=(row,))


def with_breaker(scope: str, **changes: object) -> Demand:
    return with_facts(breakers=(replace(OPEN_BREAKER, scope=scope, **changes),))  # type: ignore[arg-type]


HALF_OPEN = {"state": "half-open", "probe_run_id": "T-9-a1-0"}
HELD = {
    "off": ("switch-off", "host", with_facts(switch=replace(SWITCH, is_on=False)), None),
    "on until a moment ago": ("switch-off", "host", with_facts(switch=replace(SWITCH, until_ms=NOW)), None),
    "by day": ("outside-window", "host", with_host(schedule=NIGHT), NOW + 14 * HOUR),
    "host breaker": ("breaker-open", "host", with_breaker("host"), NOW + HOUR),
    "agent breaker": ("breaker-open", "agent:claude", with_breaker("agent:claude"), NOW + HOUR),
    "repo breaker": ("breaker-open", "repo:shop", with_breaker("repo:shop"), NOW + HOUR),
    "probe under way": ("breaker-open", "agent:claude", with_breaker("agent:claude", **HALF_OPEN), None),
    "four fifths spent": ("stop-percent", "host", with_money(live_spent_micro_usd=20 * USD), None),
    "no room": ("cost-ceiling", "host", with_money(reserved_micro_usd=20 * USD + 1), None),
    "no room until the second": ("cost-ceiling", "host", charged(1, 17, 1, reserved=3), NOW + 21 * HOUR),
    "spent by the second": ("stop-percent", "host", charged(0, 20), NOW + 21 * HOUR),
    "the clock was set ahead": ("stop-percent", "host", charged(0, 20, ago_h=30), None),
    "disk": ("disk-low", "host", with_host(free_disk_bytes=5 * GIB - 1), None),
    "memory": ("memory-low", "host", with_host(free_memory_bytes=2 * GIB - 1), None),
    "load": ("load-high", "host", with_host(load_per_cpu=8.1), None),
    "slots": ("slots-full", "host", with_facts(running=(live(8), live(9))), None),
    "stagger": ("launch-stagger", "host", with_facts(last_launch_ms=NOW - 1999), NOW + 1),
    "no agent": ("agent-unknown", "ticket:T-1", replace(DEMAND, is_agent_known=False), None),
    "no repo": ("repo-unknown", "ticket:T-1", replace(DEMAND, is_repo_known=False), None),
    "waits for another": (
        "dependency", "ticket:T-1", replace(DEMAND, dependencies=(Dependency("T-0", State.COMMITTED),)), None,
    ),
    "back-off": ("not-before", "ticket:T-1", with_ticket(not_before_ms=NOW + 1), NOW + 1),
    "ticket too dear": ("ticket-ceiling", "ticket:T-1", with_ticket(spent_micro_usd=5 * USD + 1), None),
    "too many runs": ("session-limit", "ticket:T-1", with_ticket(sessions=15), None),
    "too many tokens": ("token-limit", "ticket:T-1", with_ticket(tokens=40_000_000), None),
    "usage limit": ("agent-limited", "agent:claude", window(NOW + MINUTE), NOW + MINUTE),
    "usage probe": ("agent-limited", "agent:claude", window(NOW - MINUTE, "T-9-a1-0"), None),
    "repo taken": ("repo-busy", "repo:shop", with_facts(running=(live(9, "shop"),)), None),
    "drafts pile up": ("review-load", "repo:shop", replace(DEMAND, open_drafts=5), None),
}  # fmt: skip
FREE = {
    "nothing in the way": DEMAND,
    "on --now by day": with_host(
        schedule=NIGHT,
        facts=replace(FACTS, switch=replace(SWITCH, ignore_window=True)),
    ),
    "on until later": with_facts(switch=replace(SWITCH, until_ms=NOW + 1)),
    "cool-down over: a probe": with_breaker("agent:claude", cooldown_until_ms=NOW),
    "breaker of another agent": with_breaker("agent:codex"),
    "window open again: a probe": window(NOW),
    "just below the ceiling": with_money(reserved_micro_usd=20 * USD),
    "one slot left": with_facts(running=(live(9),)),
    "stagger over": with_facts(last_launch_ms=NOW - 2000),
    "clock was set back": with_facts(last_launch_ms=NOW + HOUR),
    "dependency published": replace(DEMAND, dependencies=(Dependency("T-0", State.PUBLISHED),)),
    "unknown disk and memory": with_host(free_disk_bytes=None, free_memory_bytes=None),
    "unknown load": with_host(load_per_cpu=None),
    "as much load as may be": with_host(load_per_cpu=8.0),
    "unlimited": with_host(
        load_per_cpu=900.0,
        rules=Rules(max_load_per_cpu=0, max_parallel_agents=0, per_repo_parallel=0, max_open_drafts=0),
        facts=replace(FACTS, running=tuple(live(number, "shop") for number in range(20, 40))),
    ),
}


@pytest.mark.parametrize(("name", "scope", "demand", "clears_ms"), HELD.values(), ids=HELD.keys())
def test_each_reason_is_a_hold_with_its_name_scope_cause_and_cure(
    name: str, scope: str, demand: Demand, clears_ms: int | None
) -> None:
    answer = admission.verdict(demand)
    assert isinstance(answer, Refuse)
    assert [(hold.name, hold.scope) for hold in answer.holds] == [(name, scope)]
    assert answer.hold.cause
    assert answer.hold.cure
    assert answer.hold.clears_ms == clears_ms


@pytest.mark.parametrize("demand", FREE.values(), ids=FREE.keys())
def test_what_is_no_reason_holds_nothing(demand: Demand) -> None:
    assert admission.verdict(demand) == Admit()


def test_money_that_never_allows_a_run_is_not_waited_for() -> None:
    demand = with_host(rules=Rules(run_ceiling_micro_usd=30 * USD))
    (hold,) = (one for one in admission.holds(demand) if one.name == "cost-ceiling")
    assert hold.clears_ms is None
    assert "lower run_ceiling_usd" in hold.cure


def test_every_hold_is_named_at_once_and_the_hosts_come_first() -> None:
    demand = replace(
        with_facts(switch=replace(SWITCH, is_on=False), running=(live(8, "shop"), live(9))),
        is_agent_known=False,
        open_drafts=9,
    )
    names = [hold.name for hold in admission.holds(demand)]
    assert names == ["switch-off", "slots-full", "agent-unknown", "repo-busy", "review-load"]


def test_a_dependency_that_has_failed_says_what_to_do_about_it() -> None:
    demand = replace(DEMAND, dependencies=(Dependency("T-7", State.FAILED), Dependency("T-8", State.QUEUED)))
    hold = admission.holds(demand)[0]
    assert hold.cause == "waits for T-7 (failed), T-8 (queued)"
    assert "autopilot retry T-7" in hold.cure


@pytest.mark.covers("F03")
@pytest.mark.parametrize(("limit", "running", "is_held"), [(1, 1, True), (3, 2, False), (0, 50, False)])
def test_the_parallel_cap_counts_runs_and_zero_means_no_cap(limit: int, running: int, is_held: bool) -> None:
    runs = tuple(live(10 + number) for number in range(running))
    demand = with_host(rules=Rules(max_parallel_agents=limit), facts=replace(FACTS, running=runs))
    assert ("slots-full" in {hold.name for hold in admission.holds(demand)}) is is_held


def test_the_drafts_that_count_are_named_and_so_is_the_way_to_have_fewer() -> None:
    names = tuple(f"T-{number}" for number in range(1, 14))
    hold = admission.holds(replace(DEMAND, open_drafts=13, draft_tickets=names))[0]
    assert hold.cause.startswith("13 drafts wait for review (T-1, T-2, ")
    assert hold.cause.endswith("T-10 and 3 more); 5 may")
    assert "autopilot review T-1 --merged" in hold.cure
