"""Whether what the file holds can be believed. Reads only."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import exc as sa_exc

from autopilot.daemon.store import copies
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

ASK_AFTER_STEPS = 1000
"""Of the machine's own, or pages looked at: a few milliseconds."""


def fault(conn: Connection) -> str | None:
    """Name the first fault: in the file's structure, or an unfinished ticket that its history contradicts."""
    verdict = conn.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    return contradiction(conn) if verdict == "ok" else str(verdict)


@contextmanager
def given_up_when(conn: Connection, is_asked: Callable[[], bool]) -> Iterator[None]:
    """Give up what SQLite does on this connection inside the block once somebody asks for it.

    Raises:
        TransientError: `check-given-up`.

    Source: https://www.sqlite.org/c3ref/progress_handler.html; the check of a table's pages asks too.
    """
    raw = conn.connection.driver_connection
    if not isinstance(raw, sqlite3.Connection):
        yield
        return
    raw.set_progress_handler(is_asked, ASK_AFTER_STEPS)
    try:
        yield
    except sa_exc.OperationalError as exc:
        if getattr(exc.orig, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
            raise
        what = "it was asked to end while it read the queue through"
        raise TransientError("check-given-up", what, hint="start it again: the check begins anew") from exc
    finally:
        raw.set_progress_handler(None, 0)


def contradiction(conn: Connection) -> str | None:
    """Name an unfinished ticket that its history contradicts; reads those alone, however large the file is.

    It finds pages of two databases mixed together, which SQLite itself may take for sound.
    """
    row = conn.exec_driver_sql(copies.CONTRADICTION).one_or_none()
    return None if row is None else copies.told(*row)
