"""Thousands of runs through one real daemon in minutes: one is played for real, all others are played again.

Where a real run costs seconds, nearly all of them in its runner and its publisher, `stand_in.py` leaves in
their place what those of the first run left. Everything that the daemon does it does for each.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from autopilot.config.paths import EVENTS_FILE, PUBLISH_EVENTS_FILE, PUBLISH_FOLDER, RESULT_FILE
from autopilot.daemon.store import queries_runs, queries_tickets
from autopilot.daemon.store.engine import Store
from autopilot.runner.chronicle import STATE_FILE
from autopilot.schemas.machine import State
from autopilot.schemas.ticket import Ticket
from tests.soak.runs import FLOOD, LIMIT_S, Sample, look
from tests.soak.stand_in import BRANCH, NUMBER, RUN, TICKET
from tests.support import canary
from tests.support.house import House
from tests.support.wait import wait_until

LIGHT_DAEMON: Final = Path(__file__).with_name("light_daemon.py")
OUTPUT: Final = "agent-1.log"
ASK_EVERY: Final = 20
"""After so many runs a person asks."""
SETTINGS: Final = """
max_open_drafts = 0
max_parallel_agents = 4
per_repo_parallel = 4
cost_ceiling_usd = 100000
"""


def soak_light(folder: Path, *, runs: int, every: int) -> Iterator[Sample]:
    """Bring so many tickets to their drafts, after one that is real, and look at the daemon every so many.

    Raises:
        AssertionError: a ticket did not become a draft, or the house is not in order at the end.
    """
    house = House(folder, settings=SETTINGS)
    house.add_agent("loud", [FLOOD, *house.mend()])
    try:
        templates = _played_once(house, folder / "templates")
        house.daemon.argv = (str(LIGHT_DAEMON), str(templates), "daemon", "run")
        house.daemon.start()
        with closing(house.daemon.store()) as store:
            for done in range(0, runs, every):
                wanted = min(every, runs - done)
                _publish(house, store, before=done + 1, tickets=wanted)
                yield look(house, done + wanted)
            _assert_alike(house, store)
        house.assert_in_order()
        assert len(house.pull_requests()) == runs + 1
        canary.assert_unseen(folder)
        shutil.rmtree(house.paths.runs)  # nothing lives any more, and to look for each costs a walk by itself
    finally:
        house.clean_up()


def _played_once(house: House, templates: Path) -> Path:
    """Play one run for real, and keep what it left."""
    house.begin()
    name = house.add(agent="loud")
    house.daemon.wait_for_state(name, "published", timeout_s=LIMIT_S)
    wait_until(lambda: not house.paths.worktree(name).exists(), LIMIT_S, "its worktree is cleaned up")
    house.assert_in_order()
    with closing(house.daemon.store()) as store, store.read() as conn:
        ticket = queries_tickets.ticket(conn, name)
    assert ticket is not None
    record(house, ticket, templates)
    return templates


def record(house: House, ticket: Ticket, templates: Path) -> None:
    """Keep what the run and the publisher of a ticket left, with a place for each word of its own."""
    paths, run_id = house.paths, ticket.run_id or ""
    folder, (pull,) = paths.run_dir(run_id), house.pull_requests()
    left = {
        **{f"run/{name}": folder / name for name in (EVENTS_FILE, STATE_FILE, RESULT_FILE)},
        "request.json": paths.request(run_id),
        "verdict.json": paths.verdict(run_id),
        "pull.json": paths.local_forge / "bill" / f"pr-{pull.number}.json",
        PUBLISH_EVENTS_FILE: folder / PUBLISH_FOLDER / PUBLISH_EVENTS_FILE,
    }
    for name, file in left.items():
        (templates / name).parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8").replace(run_id, RUN).replace(ticket.branch, BRANCH)
        text = text.replace(f"draft {pull.number} ", f"draft {NUMBER} ")
        text = text.replace(pull.url, f"{pull.url.rpartition('/')[0]}/{NUMBER}")
        (templates / name).write_text(re.sub(rf"\b{ticket.id}\b", TICKET, text), encoding="utf-8")
    shutil.copyfile(folder / OUTPUT, templates / "run" / OUTPUT)


def _assert_alike(house: House, store: Store) -> None:
    """What was told of each run, the real one included, has come in, and each has printed the same."""
    with store.read() as conn:
        every = queries_tickets.tickets(conn)
        ledgers = [queries_runs.gates_of(conn, one.id, head=one.head) for one in every]
    assert len({(one.state, one.spent_micro_usd, one.attempts, one.head) for one in every}) == 1
    assert len({tuple((gate.gate, gate.verdict) for gate in ledger) for ledger in ledgers}) == 1
    sizes_bytes = [file.stat().st_size for file in house.paths.runs.glob(f"*/{OUTPUT}")]
    assert len(sizes_bytes) == len(every)
    assert len(set(sizes_bytes)) == 1
    assert sizes_bytes[0] > 1_000_000


def _publish(house: House, store: Store, *, before: int, tickets: int) -> None:
    names = [house.add(agent="loud") for _ in range(tickets)]
    for done in (*range(ASK_EVERY, tickets, ASK_EVERY), tickets):
        wait_until(
            lambda: _published(store) >= before + done,  # noqa: B023 - it is asked here and now
            LIMIT_S,
            f"{before + done} tickets are published; {house.daemon.said()}",
        )
        _ask(house, names[done - 1])


def _published(store: Store) -> int:
    with store.read() as conn:
        return queries_tickets.counts(conn)[State.PUBLISHED]


def _ask(house: House, name: str) -> None:
    """Ask what a person asks: `status`, `list`, `show` and `why`."""
    assert house.daemon.call("GET", "/v1/status")["daemon"]["trouble"] is None
    assert house.daemon.call("GET", "/v1/tickets")["tickets"]
    assert house.daemon.ticket(name)["state"] == "published"
    assert house.daemon.call("GET", f"/v1/tickets/{name}/why")["holds"] == []
