"""The queue's order, its dependencies, its deduplication, and that none of it grows with its length."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import IntegrityError

from autopilot.daemon import acts, transitions
from autopilot.daemon.store import queries_tickets
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.tables import DEPENDENCIES
from autopilot.schemas.errors import TicketError
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from autopilot.schemas.ticket import TicketDraft
from tests.support import queue
from tests.support.clock import FakeClock


def head(store: Store, **filters: object) -> list[str]:
    with store.read() as conn:
        found = queries_tickets.candidates(
            conn,
            store.clock.now_ms(),
            default_agent="claude",
            **filters,  # type: ignore[arg-type]
        )
    return [ticket.id for ticket in found]


@pytest.mark.covers("B03")
def test_the_head_is_the_most_urgent_then_the_longest_due_then_the_oldest(
    store: Store, clock: FakeClock
) -> None:
    now_ms = clock.now_ms()
    queue.add(store, "usual")
    queue.add(store, "due since longer", not_before_ms=0, priority=2)
    queue.add(store, "became due a moment ago", not_before_ms=now_ms - 1)
    queue.add(store, "urgent", priority=0)
    queue.add(store, "least", priority=3)
    queue.add(store, "not due yet", not_before_ms=now_ms + 1000, priority=0)
    assert head(store) == ["T-4", "T-1", "T-2", "T-3", "T-5"]
    assert head(store, limit=2) == ["T-4", "T-1"]
    clock.advance(1)
    assert head(store)[:2] == ["T-4", "T-6"]


def test_what_is_busy_can_be_left_out_so_that_it_does_not_clog_the_head(store: Store) -> None:
    for _ in range(3):
        queue.add(store, repo="busy")
    queue.add(store, repo="free", agent="codex")
    queue.add(store, repo="free")
    assert head(store, limit=2, skip_repos={"busy"}) == ["T-4", "T-5"]
    assert head(store, skip_repos={"busy"}, skip_agents={"claude"}) == ["T-4"]


def test_a_ticket_waits_until_everything_it_depends_on_is_published(store: Store) -> None:
    first, second = queue.add(store), queue.add(store)
    third = queue.add(store, depends_on=(first.id, "2", first.id))
    assert third.depends_on == ("T-1", "T-2")
    assert head(store) == ["T-1", "T-2"]
    queue.publish(store, queue.commit(store, first))
    queue.commit(store, second)
    assert head(store) == []
    with store.read() as conn:
        states = [item.state for item in queries_tickets.dependencies(conn, third.id)]
    assert states == [State.PUBLISHED, State.COMMITTED]
    queue.publish(store, queue.look(store, second.id))
    assert head(store) == ["T-3"]


@pytest.mark.parametrize("name", ["T-9", "T-1", "T-2"])
def test_a_dependency_that_is_not_there_is_refused_by_name(store: Store, name: str) -> None:
    # T-1 would be the ticket itself: it cannot wait for itself, nor for one that comes later.
    with pytest.raises(TicketError, match="dependency-unknown") as caught:
        queue.add(store, depends_on=(name,))
    assert "depends_on" in caught.value.what
    assert name in caught.value.what


def test_the_database_itself_refuses_a_circle(store: Store) -> None:
    queue.add(store)
    queue.add(store, depends_on=("T-1",))
    with pytest.raises(IntegrityError, match="older"), store.write() as conn:
        conn.execute(insert(DEPENDENCIES).values(ticket=1, depends_on=2))


@pytest.mark.parametrize("moment", ["queued", "ended"])
def test_the_same_source_twice_is_one_ticket(store: Store, moment: str) -> None:
    draft = TicketDraft(title="From the tracker", source_key="o/r#12")
    first = transitions.enqueue(store, draft, repo="shop")
    if moment == "ended":
        acts.cancel(store, first.ticket.id, by="me")
    again = transitions.enqueue(store, draft.model_copy(update={"title": "Edited"}), repo="shop")
    assert (first.is_new, again.is_new, again.ticket.id) == (True, False, first.ticket.id)
    assert transitions.enqueue(store, TicketDraft(title="No source"), repo="shop").is_new


@pytest.mark.covers("B14")
def test_every_ticket_gets_a_number_of_its_own_on_this_machine_whatever_its_repository(store: Store) -> None:
    numbers = [queue.add(store, repo=repo).short_id for repo in ("a", "b", "a")]
    assert numbers == [1, 2, 3]


def test_hard_text_comes_back_as_it_was(store: Store) -> None:
    title = "-x 'quotes' \"double\" ünïcode 漢字 🙂; DROP TABLE tickets"
    ticket = queue.add(store, title, body="line\r\n\tline\u202e", acceptance=("a\nb", ""))
    seen = queue.look(store, ticket.id)
    assert (seen.title, seen.body, seen.acceptance) == (title, "line\r\n\tline\u202e", ("a\nb", ""))
    assert seen.branch == "autopilot/t-1-x-quotes-double-unicode-drop-table-ticke"


def test_the_next_due_moment_is_the_earliest_still_ahead(store: Store, clock: FakeClock) -> None:
    now_ms = clock.now_ms()
    with store.read() as conn:
        assert queries_tickets.next_due_ms(conn, now_ms) is None
    for wait_s in (0, 90, 30):
        queue.add(store, not_before_ms=now_ms + wait_s * 1000, priority=wait_s % 4)
    with store.read() as conn:
        assert queries_tickets.next_due_ms(conn, now_ms) == now_ms + 30_000


def test_lists_can_be_narrowed_and_the_newest_come_last(store: Store) -> None:
    for repo in ("a", "b", "a"):
        queue.add(store, repo=repo)
    acts.cancel(store, "T-3", by="me")
    with store.read() as conn:
        listed = queries_tickets.tickets(conn, repo="a")
        assert [ticket.id for ticket in listed] == ["T-1", "T-3"]
        assert [ticket.id for ticket in queries_tickets.tickets(conn, states={State.QUEUED})] == [
            "T-1",
            "T-2",
        ]
        assert [ticket.id for ticket in queries_tickets.tickets(conn, limit=2)] == ["T-2", "T-3"]
        assert queries_tickets.ticket(conn, "99") is None
        with pytest.raises(TicketError, match="ticket-unknown"):
            queries_tickets.ticket(conn, "x' OR 1=1")


@pytest.mark.covers("B08")
def test_the_queue_goes_on_past_a_parked_ticket(store: Store) -> None:
    stopped = queue.claim(store, queue.add(store))
    queue.add(store)
    queue.end(store, stopped, queue.result(stopped, Outcome.ASKED, questions=("Which?",)))
    assert head(store) == ["T-2"]
    assert queue.look(store, "T-1").state is State.PARKED


PLANS = {
    "money promised": (
        "SELECT sum(reserved_micro_usd) FROM attempts WHERE state = 'running'",
        "ux_attempts_running",
    ),
    "money spent": (
        "SELECT sum(spent_micro_usd) FROM attempts WHERE finished_ms > 5",
        "ix_attempts_finished",
    ),
    "open drafts": (
        "SELECT count(*) FROM publications WHERE repo = 'a' AND pr_state = 'open'",
        "ix_publications_open",
    ),
}


@pytest.mark.parametrize(("statement", "index"), PLANS.values(), ids=PLANS.keys())
def test_what_is_asked_every_tick_is_answered_from_an_index_without_sorting(
    store: Store, statement: str, index: str
) -> None:
    with store.read() as conn:
        plan = " | ".join(row.detail for row in conn.execute(text(f"EXPLAIN QUERY PLAN {statement}")))
    assert index in plan
    assert "TEMP B-TREE" not in plan


def test_the_statements_really_sent_use_those_indexes(store: Store) -> None:
    sent: list[str] = []
    with store.read() as conn:
        raw = conn.connection.dbapi_connection
        assert raw is not None
        raw.set_trace_callback(sent.append)  # SQLite's own view, with parameters as they are bound
        queries_tickets.candidates(conn, 5, default_agent="claude")
        queries_tickets.ready_to_publish(conn, 5)
        queries_tickets.next_due_ms(conn, 5)
        raw.set_trace_callback(None)
        plans = [
            " | ".join(
                row.detail for row in conn.execute(text("EXPLAIN QUERY PLAN " + line.replace(":", "\\:")))
            )
            for line in sent
            if line.startswith("SELECT")
        ]
    queued, committed, next_due = plans
    arms = [plan.count("ix_tickets_queued") + plan.count("ix_tickets_committed") for plan in plans]
    assert arms == [4, 4, 8]  # one for each priority
    assert "TEMP B-TREE" not in next_due
    for plan in (queued, committed):  # the heads alone are sorted, never the queue
        assert plan.count("TEMP B-TREE") == 1
        assert plan.endswith("USE TEMP B-TREE FOR ORDER BY")


def test_heads_of_several_priorities_come_in_the_queues_order_and_no_more_than_asked(
    store: Store,
) -> None:
    for priority in (3, 1, 2, 0, 1, 3):
        queue.add(store, priority=priority)
    now_ms = store.clock.now_ms()
    with store.read() as conn:
        found = queries_tickets.candidates(conn, now_ms, default_agent="claude")
        three = queries_tickets.candidates(conn, now_ms, default_agent="claude", limit=3)
    assert [ticket.id for ticket in found] == ["T-4", "T-2", "T-5", "T-3", "T-1", "T-6"]
    assert three == found[:3]
