"""What is given up on a person's word because it could not be saved: by name, in a file, before it goes.

Must not decide anything.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autopilot.config.atomic import write_atomically
from autopilot.config.logs import logger
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S, iso_utc

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.desk import Desk
    from autopilot.daemon.gc.item import Item
    from autopilot.runner.bundles import UnsavedError

PREFIX = "let-go-"
_MAX_LOGGED = 20


def write_down(desk: Desk, item: Item, exc: UnsavedError) -> Path:
    """Write down what is lost with a thing, and where the rest of it is saved.

    Raises:
        OSError: it cannot be written; then nothing may go.
    """
    folder = desk.paths.reports
    folder.mkdir(mode=0o700, exist_ok=True)
    now_ms = desk.clock.now_ms()
    moment = datetime.fromtimestamp(now_ms / MS_PER_S, tz=UTC)
    file = folder / f"{PREFIX}{item.run}-{item.kind}-{moment:%Y%m%dT%H%M%SZ}.json"
    unsaved = exc.unsaved()
    facts = {
        "ticket": item.ticket,
        "run": item.run,
        "path": str(item.path),
        "let_go_at": iso_utc(now_ms),
        "unsaved": list(unsaved),
        "rest": None if exc.rest is None or exc.rest.bundle is None else str(exc.rest.bundle),
    }
    write_atomically(file, json.dumps(facts, indent=2).encode("utf-8", "backslashreplace"))
    logger("gc").warning(
        Event.WORK_LET_GO,
        ticket=item.ticket,
        run=item.run,
        path=str(item.path),
        unsaved=list(unsaved[:_MAX_LOGGED]),
        names=str(file),
    )
    return file
