"""Statements that go to the driver say and mean what Core wrote; connections that are kept stay sound."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import bindparam, insert, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import TimeoutError as WaitedTooLong

from autopilot.daemon.store import (
    brakes,
    claims,
    connect,
    deliveries,
    enqueue,
    leases,
    lines,
    moves,
    nights,
    past_holds,
    publishing,
    queries_host,
    queries_runs,
    queries_tickets,
    settle,
    spend,
    steps,
    writes,
)
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.prepared import Prepared, named
from autopilot.daemon.store.tables import TICKETS
from autopilot.daemon.store.tables_host import SWITCH
from autopilot.schemas.errors import InvariantError
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.wait import wait_until

HOLDERS = (
    *(brakes, claims, deliveries, enqueue, leases, moves, nights, past_holds, publishing),
    *(queries_host, queries_runs, queries_tickets, settle, spend, steps, writes),
)
SETS = (
    *queries_tickets._IN_STATE.values(),  # noqa: SLF001 - only these are held together
    *(few for _, few in queries_tickets._NEEDS_OF_FEW),  # noqa: SLF001 - as above
    *steps._AHEAD,  # noqa: SLF001 - as above
)
PREPARED = [
    *(
        pytest.param(value, id=f"{module.__name__.rpartition('.')[2]}.{name}")
        for module in HOLDERS
        for name, value in vars(module).items()
        if isinstance(value, Prepared)
    ),
    *(pytest.param(value, id=f"of-a-set-{place}") for place, value in enumerate(SETS)),
]
OF_A_PARTIAL_INDEX = re.compile(r"\b(?:pr_)?state (?:= \?|IN \(\?)")
"""A state that is a parameter. SQLite, which must look whether it is the one of an index, compiles the
statement anew for every value that is put in. Source: sqlite3.c, `exprCompareVariable`."""


def test_a_row_is_the_one_that_sqlalchemy_reads(store: Store) -> None:
    queue.add(store, acceptance=("it works", "it is tested"))
    statement = select(TICKETS).where(TICKETS.c.short_id == bindparam("number"), literal(1) == 1)
    with store.read() as conn:
        (ours,) = Prepared(lambda: statement).rows(conn, {"number": 1})
        (theirs,) = named(conn.execute(statement, {"number": 1}))
    assert ours == theirs
    assert {name: type(value) for name, value in ours.items()} == {
        name: type(value) for name, value in theirs.items()
    }
    assert (ours["acceptance"], ours["cancel_requested"]) == (["it works", "it is tested"], False)


def test_a_forgotten_value_is_an_error_and_not_a_null(store: Store) -> None:
    prepared = Prepared(lambda: select(TICKETS).where(TICKETS.c.short_id == bindparam("number")))
    with store.read() as conn, pytest.raises(InvariantError, match="parameter-missing"):
        prepared.rows(conn)


def test_a_statement_whose_text_depends_on_the_call_is_refused(store: Store) -> None:
    prepared = Prepared(
        lambda: select(TICKETS).where(TICKETS.c.short_id.in_(bindparam("some", expanding=True)))
    )
    with store.read() as conn, pytest.raises(InvariantError, match="statement-unprepared"):
        prepared.rows(conn, {"some": [1, 2]})


@pytest.mark.parametrize("prepared", PREPARED)
def test_each_is_still_a_statement_that_another_database_can_be_sent(prepared: Prepared) -> None:
    statement: Any = prepared.statement
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    assert str(statement.compile(dialect=dialect))


def test_a_parameter_as_a_state_is_what_that_means() -> None:
    statement = select(TICKETS.c.title).where(TICKETS.c.state == bindparam("some"))
    assert OF_A_PARTIAL_INDEX.search(str(statement.compile(dialect=sqlite.dialect())))


@pytest.mark.parametrize("prepared", PREPARED)
def test_none_that_reads_is_compiled_anew_each_time_for_its_state_is_no_parameter(prepared: Prepared) -> None:
    statement: Any = prepared.statement
    text = str(statement.compile(dialect=sqlite.dialect()))
    assert not (text.startswith("SELECT") and OF_A_PARTIAL_INDEX.search(text))


def test_what_the_driver_and_what_sqlalchemy_write_is_one_transaction(store: Store) -> None:
    queue.add(store)
    rename = TICKETS.update().values(title="By SQLAlchemy")

    def fail() -> None:
        with store.write() as conn:
            conn.execute(rename)
            Prepared(TICKETS.update).run(conn, {"body": "By the driver"})
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert (queue.look(store, "T-1").title, queue.look(store, "T-1").body) == ("Fix the sum", "")
    with store.write() as conn:
        conn.execute(rename)
        Prepared(TICKETS.update).run(conn, {"body": "By the driver"})
    assert (queue.look(store, "T-1").title, queue.look(store, "T-1").body) == (
        "By SQLAlchemy",
        "By the driver",
    )


def test_a_connection_that_failed_holds_no_lock_and_no_snapshot(store: Store) -> None:
    queue.add(store)
    with pytest.raises(ZeroDivisionError), store.read() as conn:
        assert queries_tickets.counts(conn)[State.QUEUED] / 0
    queue.add(store)
    assert queue.look(store, "T-1").title == "Fix the sum"
    with store.read() as conn, pytest.raises(Exception, match="readonly"):
        Prepared(lambda: insert(SWITCH)).run(conn, {"id": 2})


def test_two_writers_of_one_store_take_turns(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go = threading.Event(), threading.Event()

    def hold() -> None:
        with store.write():
            inside.set()
            go.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    wait_until(inside.is_set, 60, "the first writes")
    monkeypatch.setattr(lines, "_WAIT_S", 0.01)
    with pytest.raises(Exception, match="database-busy"):
        queue.add(store)
    monkeypatch.undo()
    go.set()
    assert queue.add(store).id == "T-1"
    holder.join()


def test_who_finds_no_connection_free_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_WAIT_S", 0.01)
    pool = connect.writer(tmp_path / "some.db", "cli")
    with pool.transaction(), pytest.raises(WaitedTooLong), pool.transaction():
        pass
    pool.close()
