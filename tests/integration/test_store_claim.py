"""The claim: every limit by its name, all or nothing, counted before any work begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.daemon import transitions
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import queries_host, queries_tickets, writes
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Claim, ClaimRefused
from autopilot.schemas.errors import InvariantError, StaleTransitionError
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome, Usage
from tests.support import queue, records, words
from tests.support.clock import FakeClock
from tests.support.queue import ROOMY
from tests.support.words import AGENT, USD

HALF_HOUR_S = 1800
DAY_S = 24 * 3600


def refused(store: Store, *, rules: Rules = ROOMY, repo: str = words.REPO, agent: str = AGENT) -> str:
    """The hold that a new ticket's claim meets; nothing may have been written."""
    ticket = queue.add(store, repo=repo)
    answer = transitions.claim(store, ticket, agent=agent, rules=rules)
    assert isinstance(answer, ClaimRefused), answer
    assert queue.look(store, ticket.id) == ticket
    assert queue.attempts(store, ticket) == ()
    return answer.hold


def fail_once(store: Store, outcome: Outcome = Outcome.AGENT_FAILED, *, cost: int = 0) -> None:
    claimed = queue.claim(store, queue.add(store))
    usage = Usage(cost_micro_usd=cost, known=True)
    queue.end(store, claimed, queue.result(claimed, outcome, usage=usage))


def test_dmn_051_the_attempt_is_on_disk_before_any_work_begins(store: Store) -> None:
    ticket = queue.add(store)
    claimed = queue.claim(store, ticket)
    seen = queue.look(store, ticket.id)
    assert (seen.attempts, seen.sessions, seen.fence) == (1, 1, 1)
    assert claimed.attempt.reserved_micro_usd == 5 * USD
    assert claimed.attempt.run_id.startswith("T-1-a1-")
    with store.read() as conn:
        assert [entry.kind for entry in records.ledger(conn)] == ["reserved"]


def test_a_switch_at_off_refuses_every_claim(store: Store, clock: FakeClock) -> None:
    writes.turn_off(store, by="me")
    assert refused(store) == "switch-off"
    writes.turn_on(store, by="me", until_ms=clock.now_ms() + 1000)
    queue.claim(store, queue.add(store))
    clock.advance(1)
    assert refused(store) == "switch-off"


@pytest.mark.covers("F01")
def test_the_rolling_ceiling_holds_and_lets_go_after_24_hours(store: Store, clock: FakeClock) -> None:
    rules = replace(ROOMY, cost_ceiling_micro_usd=12 * USD, stop_launching_percent=100)
    fail_once(store, cost=4 * USD)
    queue.claim(store, queue.add(store), rules=rules)  # 4 spent + 5 reserved
    assert refused(store, rules=rules) == "cost-ceiling"
    clock.advance(DAY_S - 1)
    assert refused(store, rules=rules) == "cost-ceiling"
    clock.advance(1)
    queue.claim(store, queue.add(store), rules=rules)


def test_launching_stops_at_its_share_of_the_ceiling(store: Store) -> None:
    rules = replace(ROOMY, cost_ceiling_micro_usd=100 * USD, stop_launching_percent=80)
    fail_once(store, cost=80 * USD - 1)
    fail_once(store, cost=0)
    claimed = queue.claim(store, queue.add(store), rules=rules)
    writes.record_spend(store, claimed.attempt.run_id, 1, fence=1)
    assert refused(store, rules=rules) == "stop-percent"


def test_a_live_run_that_overspends_holds_back_what_it_really_spent(store: Store) -> None:
    rules = replace(ROOMY, cost_ceiling_micro_usd=16 * USD, stop_launching_percent=100)
    claimed = queue.claim(store, queue.add(store), rules=rules)
    writes.record_spend(store, claimed.attempt.run_id, 12 * USD, fence=1)
    assert refused(store, rules=rules) == "cost-ceiling"


def test_a_ticket_that_has_spent_its_own_ceiling_is_refused(store: Store, clock: FakeClock) -> None:
    rules = replace(ROOMY, ticket_ceiling_micro_usd=10 * USD)
    ticket = queue.add(store)
    for hold in (None, "ticket-ceiling"):
        answer = transitions.claim(store, queue.look(store, ticket.id), agent=AGENT, rules=rules)
        if hold is None:
            assert isinstance(answer, Claim)
            six = Usage(cost_micro_usd=6 * USD, known=True)
            queue.end(store, answer, queue.result(answer, Outcome.AGENT_FAILED, usage=six))
        else:
            assert isinstance(answer, ClaimRefused)
            assert answer.hold == hold


def test_a_ticket_that_has_had_its_runs_is_refused(store: Store) -> None:
    ticket = queue.add(store)
    rules = replace(ROOMY, sessions_per_ticket=1)
    claimed = queue.claim(store, ticket, rules=rules)
    queue.end(store, claimed, queue.result(claimed, Outcome.STOPPED), rules=ROOMY)
    answer = transitions.claim(store, queue.look(store, ticket.id), agent=AGENT, rules=rules)
    assert isinstance(answer, ClaimRefused)
    assert answer.hold == "session-limit"


def test_a_ticket_that_has_used_its_tokens_is_refused(store: Store) -> None:
    ticket = queue.add(store)
    claimed = queue.claim(store, ticket)
    used = Usage(cost_micro_usd=1, known=True, input_tokens=30, output_tokens=3, cached_tokens=7)
    seen = queue.end(store, claimed, queue.result(claimed, Outcome.STOPPED, usage=used))
    assert (seen.tokens, queue.attempts(store, seen)[0].tokens) == (40, 40)
    answer = transitions.claim(store, seen, agent=AGENT, rules=replace(ROOMY, tokens_per_ticket=40))
    assert isinstance(answer, ClaimRefused)
    assert answer.hold == "token-limit"
    queue.claim(store, seen, rules=replace(ROOMY, tokens_per_ticket=41))


@pytest.mark.covers("F03")
def test_slots_and_repositories_are_counted_in_the_claim(store: Store) -> None:
    rules = replace(ROOMY, max_parallel_agents=2, per_repo_parallel=1)
    queue.claim(store, queue.add(store, repo="a"), rules=rules)
    assert refused(store, rules=rules, repo="a") == "repo-busy"
    queue.claim(store, queue.add(store, repo="b"), rules=rules)
    assert refused(store, rules=rules, repo="c") == "slots-full"


@pytest.mark.covers("E01", "E02")
def test_an_open_breaker_refuses_until_its_cooldown_then_lets_exactly_one_probe_through(
    store: Store, clock: FakeClock
) -> None:
    for _ in range(3):
        fail_once(store)
    assert refused(store) == "breaker-open"
    clock.advance(HALF_HOUR_S)
    probe = queue.claim(store, queue.add(store))
    assert probe.attempt.is_probe
    assert refused(store) == "breaker-open"
    queue.end(store, probe, queue.result(probe))
    assert not queue.claim(store, queue.add(store)).attempt.is_probe


@pytest.mark.covers("E04")
def test_the_breaker_of_one_agent_does_not_hold_another_agent(store: Store) -> None:
    for _ in range(3):
        fail_once(store)
    queue.claim(store, queue.add(store), agent="another")


@pytest.mark.covers("E04")
def test_the_breaker_is_a_row_that_survives_a_restart(store: Store, tmp_path: Path, clock: FakeClock) -> None:
    for _ in range(3):
        fail_once(store)
    again = queue.new_store(tmp_path, clock, is_on=False)
    assert refused(again) == "breaker-open"
    with again.read() as conn:
        row = queries_host.breaker(conn, f"agent:{AGENT}")
    assert (row.state, row.failures, row.failure_class) == ("open", 3, "agent-failed")
    again.close()


def test_a_person_closes_a_breaker(store: Store) -> None:
    for _ in range(3):
        fail_once(store)
    assert writes.reset_breaker(store, f"agent:{AGENT}", by="me").state == "closed"
    queue.claim(store, queue.add(store))


@pytest.mark.parametrize("end", ["stopped", "cancelled", "lost with the machine"])
def test_a_probe_that_ends_without_a_word_is_followed_by_another_probe(
    store: Store, clock: FakeClock, end: str
) -> None:
    for _ in range(3):
        fail_once(store)
    clock.advance(HALF_HOUR_S)
    probe = queue.claim(store, queue.add(store))
    if end == "cancelled":
        writes.request_cancel(store, probe.ticket, by="me")
    report = queue.lost(probe, "reboot") if end.startswith("lost") else queue.result(probe, Outcome.STOPPED)
    queue.end(store, probe, report)
    assert queue.claim(store, queue.add(store)).attempt.is_probe


def test_a_usage_limit_holds_its_agent_then_one_probe_opens_it(store: Store, clock: FakeClock) -> None:
    claimed = queue.claim(store, queue.add(store))
    limit = queue.result(claimed, Outcome.USAGE_LIMIT, resets_ms=clock.now_ms() + 3_600_000)
    released = queue.end(store, claimed, limit)
    assert (released.state, released.attempts, released.releases) == (State.QUEUED, 0, 1)
    assert refused(store) == "agent-limited"
    queue.claim(store, queue.add(store), agent="another")
    clock.advance(3600)
    probe = queue.claim(store, queue.look(store, released.id))
    assert refused(store) == "agent-limited"
    queue.end(store, probe, queue.result(probe))
    queue.claim(store, queue.add(store))


def test_a_usage_probe_that_meets_the_limit_again_waits_again(store: Store, clock: FakeClock) -> None:
    for _ in range(2):
        claimed = queue.claim(store, queue.add(store))
        limit = queue.result(claimed, Outcome.USAGE_LIMIT, resets_ms=clock.now_ms() + 3_600_000)
        queue.end(store, claimed, limit)
        assert refused(store) == "agent-limited"
        clock.advance(3600)


def test_a_usage_probe_that_is_stopped_is_made_again(store: Store, clock: FakeClock) -> None:
    claimed = queue.claim(store, queue.add(store))
    queue.end(store, claimed, queue.result(claimed, Outcome.USAGE_LIMIT))
    clock.advance(7200)
    probe = queue.claim(store, queue.add(store))
    queue.end(store, probe, queue.result(probe, Outcome.STOPPED))
    again = queue.claim(store, queue.look(store, probe.ticket.id))
    assert again.attempt.is_probe
    assert refused(store) == "agent-limited"


def test_a_claim_on_a_ticket_that_has_moved_is_stale(store: Store) -> None:
    ticket = queue.add(store)
    claimed = queue.claim(store, ticket)
    with pytest.raises(StaleTransitionError):
        transitions.claim(store, ticket, agent=AGENT, rules=ROOMY)
    queue.end(store, claimed, queue.result(claimed, Outcome.STOPPED))
    with pytest.raises(StaleTransitionError):  # it went round and came back: not the ticket that was seen
        transitions.claim(store, ticket, agent=AGENT, rules=ROOMY)
    with pytest.raises(InvariantError, match="move-unknown"):
        transitions.claim(store, queue.commit(store, queue.add(store)), agent=AGENT, rules=ROOMY)


def test_the_last_launch_is_known_for_the_stagger(store: Store, clock: FakeClock) -> None:
    with store.read() as conn:
        assert queries_host.facts(conn, clock.now_ms()).last_launch_ms is None
    claimed = queue.claim(store, queue.add(store))
    with store.read() as conn:
        facts = queries_host.facts(conn, clock.now_ms())
        assert queries_tickets.counts(conn)[State.RUNNING] == 1
    assert facts.last_launch_ms == clock.now_ms()
    assert [live.attempt for live in facts.running] == [claimed.attempt]
