"""What several rows stand on: a store filled for measuring, and a daemon of their own."""

from __future__ import annotations

import contextlib
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autopilot.config.clock import SystemClock
from autopilot.daemon import transitions
from autopilot.daemon.store import queries_tickets, writes
from autopilot.daemon.store.engine import Store, open_store
from autopilot.daemon.store.rows import Claim
from autopilot.schemas.decision import Pass
from autopilot.schemas.ticket import Ticket
from tests.support import queue, words
from tests.support.daemon import Daemon

# Nothing is launched while the switch is off, and nothing is ever fetched from here.
CONFIG = """\
max_parallel_agents = 0
launch_stagger_s = 0
min_free_disk_gib = 0
min_free_memory_gib = 0
max_load_per_cpu = 0

[identity]
name = "Bench"
email = "bench@example.invalid"

[schedule]
window = ""

[daemon]
poll_s = {poll_s}

[agents.none]
kind = "command"
argv = ["true"]

[[repo]]
name = "bench"
url = "{url}"
base = "main"
forge = "local"
agent = "none"
"""
NOWHERE = "file:///nonexistent/bench.git"
GREEN = words.result(head=queue.HEAD, gates=queue.gates(queue.HEAD))


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder on the disk that the system uses for them."""
    with tempfile.TemporaryDirectory(prefix="bench-") as path:
        yield Path(path)


def configured(url: str, *, poll_s: int = 20) -> str:
    """A configuration with this one repository."""
    return CONFIG.format(url=url, poll_s=poll_s)


@contextlib.contextmanager
def daemon(*, url: str = NOWHERE) -> Iterator[Daemon]:
    """The real daemon in a home of its own, up and answering; ended at the end."""
    with folder() as place:
        up = Daemon(place / "home", config=configured(url))
        up.start()
        try:
            yield up
        finally:
            assert up.process is not None
            up.process.send_signal(signal.SIGTERM)
            up.process.wait()


def store_of(place: Path, tickets: int = 0) -> Store:
    """A new store as the daemon opens it, switched on, with so many tickets."""
    place.mkdir(parents=True, exist_ok=True)
    store = open_store(place / "autopilot.db", SystemClock(), role="daemon")
    writes.turn_on(store, by="bench", ignore_window=True)
    for number in range(tickets):
        queue.add(store, f"Ticket {number}")
    return store


def head(store: Store) -> Ticket:
    """The ticket that is next."""
    with store.read() as conn:
        found = queries_tickets.candidates(conn, store.clock.now_ms(), default_agent=queue.AGENT, limit=1)
    return found[0]


def claim_next(store: Store) -> Claim:
    """Look at the head of the queue and claim it."""
    return queue.claim(store, head(store))


def complete(store: Store, claimed: Claim) -> None:
    """End a claimed run with a green commit that cost a dollar."""
    named = {
        "run_id": claimed.attempt.run_id,
        "ticket_id": claimed.ticket.id,
        "fence": claimed.attempt.fence,
        "branch": claimed.ticket.branch,
    }
    report = GREEN.model_copy(update=named)  # to write it is the runner's work, not the queue's
    transitions.pass_(store, claimed.ticket, report, Pass(queue.HEAD, queue.BASE), rules=queue.ROOMY)
