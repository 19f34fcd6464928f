"""A program that opens a database of an older schema and dies by SIGKILL in the middle of bringing it up.

`python -m tests.support.dying_migration PRISTINE FOLDER STEPS` opens copies of PRISTINE (an empty word for
none) in FOLDER, dying in each at another point; then each is opened once more and must be up. Writes one JSON
line per point. It forks for each, so that Alembic is imported once. STEPS is `statements` (before every
statement and commit of the migration), `statements/5` (every fifth) or a number: that many points, evenly
spread over the work that SQLite does for it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import alembic.command
import alembic.config  # noqa: F401 - as above
from sqlalchemy import Connection, Engine, event

from autopilot.config.clock import SystemClock
from autopilot.daemon.store import copies
from autopilot.daemon.store.engine import open_store

STATEMENTS = "statements"
_OPS = 200
Tick = Callable[[], None]


def watch_statements(tick: Tick) -> None:
    """Call `tick` before each statement and each commit."""

    def on_statement(*_: object) -> None:
        tick()

    def on_commit(_: Connection) -> None:
        tick()

    event.listen(Engine, "before_cursor_execute", on_statement)
    event.listen(Engine, "commit", on_commit)


def watch_work(tick: Tick) -> None:
    """Call `tick` every so many steps of SQLite's own machine."""

    def on_connect(raw: sqlite3.Connection, _: object) -> None:
        raw.set_progress_handler(tick, _OPS)

    event.listen(Engine, "connect", on_connect)


def opened(database: Path) -> None:
    """Open it as the daemon does, and let it go."""
    open_store(database, SystemClock(), role="daemon").close()


def points(pristine: Path | None, folder: Path, steps: str) -> list[int]:
    """Count how often `tick` is called when nobody dies, and choose where to."""
    database = prepared(pristine, folder / "counted")
    reading, writing = os.pipe()
    if os.fork() == 0:
        seen = 0

        def tick() -> None:
            nonlocal seen
            seen += 1

        watch(steps)(tick)
        opened(database)
        os.write(writing, str(seen).encode())
        os._exit(0)
    os.wait()
    total = int(os.read(reading, 20))
    if steps.startswith(STATEMENTS):
        return list(range(1, total + 1, int(steps.partition("/")[2] or 1)))
    return sorted({max(1, total * part // int(steps)) for part in range(1, int(steps))})


def watch(steps: str) -> Callable[[Tick], None]:
    """Say what is counted."""
    return watch_statements if steps.startswith(STATEMENTS) else watch_work


def prepared(pristine: Path | None, folder: Path) -> Path:
    """Lay a fresh copy of the database into a folder."""
    folder.mkdir()
    database = folder / "autopilot.db"
    if pristine is not None:
        shutil.copyfile(pristine, database)
    return database


def die_at(database: Path, point: int, steps: str) -> int:
    """Open it in a child that dies at a point; give the signal that it died by."""
    child = os.fork()
    if child == 0:
        _open_and_die(database, point, steps)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _open_and_die(database: Path, point: int, steps: str) -> NoReturn:
    left = point

    def tick() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(steps)(tick)
    opened(database)
    os._exit(0)


def standing(database: Path) -> dict[str, object]:
    """Look at what is there, through SQLite alone."""
    if not database.exists():
        return {"schema": None, "tickets": None}
    with closing(sqlite3.connect(database)) as raw:
        schema, rows = copies.read_facts(raw)
    return {"schema": schema, "tickets": dict(rows)["tickets"]}


def rows(pristine: Path | None, folder: Path, steps: str) -> Iterator[dict[str, object]]:
    """Die at every point, each in a copy of its own, and look before and after the next start."""
    for point in points(pristine, folder, steps):
        database = prepared(pristine, folder / f"at-{point}")
        died_by = die_at(database, point, steps)
        before = standing(database)
        made = [copies.inspect(path) for path in copies.in_folder(database.parent / copies.BACKUP_FOLDER)]
        if os.fork() == 0:
            opened(database)
            os._exit(0)
        _, status = os.wait()
        yield {
            "point": point,
            "died_by": died_by,
            "before": before,
            "backups": [[copy.schema, copy.tickets, copy.fault] for copy in made],
            "reopened": status,
            "after": standing(database),
        }
        shutil.rmtree(database.parent)


if __name__ == "__main__":
    pristine_file, work, how = sys.argv[1:]
    for row in rows(Path(pristine_file) if pristine_file else None, Path(work), how):
        sys.stdout.write(f"{json.dumps(row)}\n")
        sys.stdout.flush()
