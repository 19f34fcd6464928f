"""What SQLite's driver is given, below SQLAlchemy and whatever goes past it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, event

from autopilot.daemon.store.lines import Lines

_WORDS = ("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA", "--")


class Sent(NamedTuple):
    """One call of the driver."""

    text: str
    values: Any
    is_many: bool


@contextmanager
def played(sent: list[Sent]) -> Iterator[None]:
    """Take down every call that connections opened inside the block make, with its values."""

    class Cursor(sqlite3.Cursor):
        def execute(self, text: str, values: Any = (), /) -> Cursor:  # noqa: ANN401 - the driver's shape
            sent.append(Sent(text, values, is_many=False))
            return super().execute(text, values)

        def executemany(self, text: str, values: Any, /) -> Cursor:  # noqa: ANN401 - as above
            rows = list(values)
            sent.append(Sent(text, rows, is_many=True))
            return super().executemany(text, rows)

    class Driver(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:  # noqa: ANN401 - as above
            return super().cursor(factory)

        def execute(self, text: str, values: Any = (), /) -> Any:  # noqa: ANN401 - as above
            return self.cursor().execute(text, values)

        def executemany(self, text: str, values: Any, /) -> Any:  # noqa: ANN401 - as above
            return self.cursor().executemany(text, values)

        def commit(self) -> None:
            sent.append(Sent("COMMIT", (), is_many=False))
            super().commit()

    def use(_dialect: object, _record: object, _words: object, options: dict[str, Any]) -> None:
        options["factory"] = Driver

    event.listen(Engine, "do_connect", use)
    try:
        yield
    finally:
        event.remove(Engine, "do_connect", use)


@contextmanager
def traced() -> Iterator[list[str]]:
    """Collect what any connection runs meanwhile, with the values in the text; no transaction's own words."""
    texts: list[str] = []

    def note(text: str) -> None:
        if not text.lstrip().upper().startswith(_WORDS):
            texts.append(text)

    take, give = Lines.take, Lines.give

    def taken(lines: Lines) -> Connection:
        conn = take(lines)
        raw: Any = conn.connection.dbapi_connection
        raw.set_trace_callback(note)
        return conn

    def given(lines: Lines, conn: Connection) -> None:
        raw: Any = conn.connection.dbapi_connection
        raw.set_trace_callback(None)
        give(lines, conn)

    setattr(Lines, "take", taken)  # noqa: B010 - mypy refuses an assignment to a method
    setattr(Lines, "give", given)  # noqa: B010 - as above
    try:
        yield texts
    finally:
        setattr(Lines, "take", take)  # noqa: B010 - as above
        setattr(Lines, "give", give)  # noqa: B010 - as above
