"""No automatic mechanism, nor two together, may pay for one ticket without end."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from autopilot.daemon import acts, decide, transitions, transitions_publish
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import queries_host, queries_runs, queries_tickets
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Claim
from autopilot.daemon.store.tables import METADATA
from autopilot.schemas.decision import Park
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.run import Outcome, Usage
from tests.support import queue, words
from tests.support.clock import FakeClock
from tests.support.in_order import assert_in_order
from tests.support.night import Night, Play, is_at_rest
from tests.support.words import USD

# The ceilings are out of the way, so that the counters alone must hold.
RULES = Rules(
    run_ceiling_micro_usd=USD,
    ticket_ceiling_micro_usd=1000 * USD,
    cost_ceiling_micro_usd=1000 * USD,
    launch_stagger_ms=0,
)
LOSSES: tuple[decide.LossCause, ...] = ("died", "reboot", "stopped", "never-started")


def always(end: Outcome | decide.LossCause) -> Play:
    def play(claimed: Claim) -> decide.RunReport:
        if isinstance(end, Outcome):
            return queue.result(claimed, end, questions=("Why?",), usage=Usage())
        return queue.lost(claimed, end)

    return play


@pytest.mark.field_report("DMN-039")
@pytest.mark.parametrize(
    ("end", "publishes"),
    [
        *((end, PublishOutcome.PUBLISH_DEFERRED) for end in (*Outcome, *LOSSES)),
        (Outcome.COMMITTED, PublishOutcome.VERIFICATION_FAILED),
    ],
)
def test_dmn_039_a_thousand_hours_of_one_bad_end_cost_a_bounded_number_of_runs(
    store: Store, clock: FakeClock, end: Outcome | decide.LossCause, publishes: PublishOutcome
) -> None:
    first = queue.add(store)
    queue.add(store, depends_on=(first.id,))
    Night(store, clock, RULES, always(end), publishes).pass_hours(1000, tick_s=8 * 3600)
    ticket = queue.look(store, first.id)
    most = 1 + RULES.releases_per_ticket
    assert ticket.sessions <= most < RULES.sessions_per_ticket
    assert ticket.spent_micro_usd <= most * RULES.run_ceiling_micro_usd
    assert is_at_rest(ticket) or ticket.state is State.COMMITTED
    assert queue.look(store, "T-2").sessions == 0  # what depends on it never starts


@pytest.mark.field_report("DMN-039")
@pytest.mark.covers("B09")
def test_dmn_039_what_is_parked_stays_parked_whatever_else_goes_on(store: Store, clock: FakeClock) -> None:
    night = Night(store, clock, RULES, always(Outcome.GATES_FAILED))
    ticket = queue.add(store)
    night.pass_hours(1, tick_s=60)
    before = queue.look(store, ticket.id)
    for _ in range(20):
        queue.add(store)
    night.pass_hours(1000, tick_s=24 * 3600)
    assert queue.look(store, ticket.id) == before
    assert before.waiting_for is WaitingFor.BREAKER


@pytest.mark.field_report("DMN-039")
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ends=st.lists(st.sampled_from([*Outcome, *LOSSES]), min_size=40, max_size=40),
    publishes=st.sampled_from(list(PublishOutcome)),
)
def test_dmn_039_any_mixture_of_ends_is_bounded_and_counters_never_go_back(
    tmp_path_factory: pytest.TempPathFactory,
    ends: list[Outcome | decide.LossCause],
    publishes: PublishOutcome,
) -> None:
    clock = FakeClock()
    store = queue.new_store(tmp_path_factory.mktemp("night"), clock)
    left = iter(ends)

    def play(claimed: Claim) -> decide.RunReport:
        return always(next(left, Outcome.BUG))(claimed)

    night = Night(store, clock, RULES, play, publishes)
    ticket = queue.add(store)
    seen = (0, 0)
    for _ in range(60):
        night.tick()
        clock.advance(24 * 3600)
        now = queue.look(store, ticket.id)
        assert (now.sessions, now.spent_micro_usd) >= seen
        seen = (now.sessions, now.spent_micro_usd)
    assert seen[0] <= RULES.sessions_per_ticket
    assert seen[1] <= RULES.sessions_per_ticket * RULES.run_ceiling_micro_usd
    assert is_at_rest(now) or now.state is State.COMMITTED
    assert_in_order(store)
    store.close()


@pytest.mark.field_report("DMN-039")
def test_dmn_039_even_a_person_who_retries_for_ever_meets_the_limit_of_runs(
    store: Store, clock: FakeClock
) -> None:
    night = Night(store, clock, RULES, always(Outcome.GATES_FAILED))
    ticket = queue.add(store)
    for _ in range(30):
        night.pass_hours(6)
        if queue.look(store, ticket.id).state is State.PARKED:
            acts.retry(store, ticket.id, by="me")
    seen = queue.look(store, ticket.id)
    assert (seen.sessions, seen.state) == (RULES.sessions_per_ticket, State.QUEUED)


@pytest.mark.field_report("DMN-039")
def test_dmn_039_the_tickets_own_ceiling_ends_what_the_counters_would_allow(
    store: Store, clock: FakeClock
) -> None:
    rules = Rules(run_ceiling_micro_usd=5 * USD, ticket_ceiling_micro_usd=10 * USD, launch_stagger_ms=0)
    ticket = queue.add(store)
    Night(store, clock, rules, always(Outcome.USAGE_LIMIT)).pass_hours(500, tick_s=12 * 3600)
    assert queue.look(store, ticket.id).spent_micro_usd == 10 * USD


@pytest.mark.field_report("DMN-051")
@pytest.mark.parametrize("restarts", [False, True])
def test_dmn_051_a_run_that_never_writes_its_end_is_counted_all_the_same(
    tmp_path: Path, clock: FakeClock, restarts: bool
) -> None:
    store = queue.new_store(tmp_path, clock)
    ticket = queue.add(store)
    runs = 0
    for _ in range(49):
        seen = queue.look(store, ticket.id)
        if seen.state is not State.QUEUED:
            break
        claimed = queue.claim(store, seen, rules=RULES)
        runs += 1
        if restarts:  # the daemon died with the run: nothing but the claim's own row is left
            store.close()
            store = queue.new_store(tmp_path, clock)
        with store.read() as conn:
            (found,) = queries_runs.running(conn)
        assert found.attempt == claimed.attempt
        queue.end(store, claimed, queue.lost(claimed), rules=RULES)
        clock.advance(3600)
    ended = queue.look(store, ticket.id)
    assert (runs, ended.sessions, ended.state) == (2, 2, State.PARKED)
    assert ended.spent_micro_usd == 2 * RULES.run_ceiling_micro_usd
    assert_in_order(store)
    store.close()


@pytest.mark.field_report("DMN-052")
def test_dmn_052_a_ticket_that_fails_at_once_backs_off_and_starves_nobody(
    store: Store, clock: FakeClock
) -> None:
    bad = queue.add(store, "always fails")
    for _ in range(20):
        queue.add(store, "good")

    def play(claimed: Claim) -> decide.RunReport:
        outcome = Outcome.AGENT_FAILED if claimed.ticket.id == bad.id else Outcome.COMMITTED
        return queue.result(claimed, outcome)

    rules = Rules(cost_ceiling_micro_usd=1000 * USD, launch_stagger_ms=0)
    Night(store, clock, rules, play).pass_hours(1, tick_s=5)
    with store.read() as conn:
        counts = queries_tickets.counts(conn)
        started = [row.started_ms for row in queries_runs.attempts_of(conn, bad.id)]
        attempts = [
            row
            for ticket in queries_tickets.tickets(conn)
            for row in queries_runs.attempts_of(conn, ticket.id)
        ]
    launched = [row.ticket_id for row in sorted(attempts, key=lambda row: row.started_ms)]
    assert (counts[State.PUBLISHED], counts[State.FAILED]) == (20, 1)
    gaps_s = [(later - earlier) / 1000 for earlier, later in pairwise(started)]
    assert len(gaps_s) == 2
    assert gaps_s[0] >= 45
    assert gaps_s[1] >= 90
    assert launched[1:21] == [f"T-{number}" for number in range(2, 22)]  # all good ones before its second try


@pytest.mark.field_report("DMN-052")
def test_dmn_052_the_counter_survives_a_requeue_by_the_machine_and_a_restart(
    tmp_path: Path, clock: FakeClock
) -> None:
    store = queue.new_store(tmp_path, clock)
    ticket = queue.add(store)
    for attempt in (1, 2):
        claimed = queue.claim(store, queue.look(store, ticket.id))
        queue.end(store, claimed, queue.result(claimed, Outcome.AGENT_FAILED))
        clock.advance(3600)
        store.close()
        store = queue.new_store(tmp_path, clock)
        assert queue.look(store, ticket.id).attempts == attempt
    store.close()


TABLES = ("tickets", "history", "attempts", "ledger", "exchanges", "gates", "breakers")


@pytest.mark.field_report("DMN-051")
@pytest.mark.parametrize("table", TABLES)
def test_dmn_051_a_write_that_fails_halfway_leaves_nothing_of_its_move(
    store: Store, clock: FakeClock, table: str
) -> None:
    claimed = queue.claim(store, queue.add(store))
    before = _everything(store)
    with store.write() as conn:
        for action in ("INSERT", "UPDATE"):
            conn.execute(
                text(
                    f"CREATE TRIGGER fault_{action} BEFORE {action} ON {table}"
                    " BEGIN SELECT RAISE(ABORT, 'disk on fire'); END"
                )
            )
    report = queue.result(claimed, Outcome.BUG, gates=words.gates())
    park = Park(WaitingFor.QUESTIONS, "asks", "answer", ("Why?",))
    with pytest.raises((IntegrityError, sqlite3.IntegrityError), match="disk on fire"):
        transitions.park(store, claimed.ticket, park, report=report, rules=RULES)
    assert _everything(store) == before
    with store.write() as conn:
        conn.execute(text("DROP TRIGGER fault_INSERT"))
        conn.execute(text("DROP TRIGGER fault_UPDATE"))
    parked = transitions.park(store, claimed.ticket, park, report=report, rules=RULES)
    assert parked.state is State.PARKED


@pytest.mark.field_report("DMN-051")
def test_dmn_051_a_publication_that_fails_halfway_leaves_nothing_of_its_move(store: Store) -> None:
    committed = queue.commit(store, queue.add(store))
    with store.write() as conn:
        conn.execute(
            text("CREATE TRIGGER fault BEFORE INSERT ON publications BEGIN SELECT RAISE(ABORT, 'no'); END")
        )
    with pytest.raises((IntegrityError, sqlite3.IntegrityError)):
        transitions_publish.begin_publish(store, committed, base="main", base_sha=words.BASE)
    assert queue.look(store, committed.id) == committed


def _everything(store: Store) -> list[object]:
    tables = (*TABLES, "publications", "agent_windows", "dependencies")
    with store.read() as conn:
        rows: list[object] = [tuple(conn.execute(select(METADATA.tables[table]))) for table in tables]
        return [*rows, queries_host.switch(conn)]
