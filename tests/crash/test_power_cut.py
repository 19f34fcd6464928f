"""The power goes: what was flushed is there, what was not may be; the night goes on from such a disk.

One night is recorded with every flush of the daemon, its children, git and SQLite (`support/powercut`). Then
disks are built as a power cut at random flushes would have left them, and a daemon is started on each.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.store import queries_host, queries_tickets
from autopilot.daemon.store.engine import open_store
from autopilot.schemas.events import Event
from tests.support.daemon import RUN_DAEMON
from tests.support.house import House
from tests.support.powercut.record import HERE, Names, Record
from tests.support.small_project import small_repo

EVERY: Final = os.environ.get("POWER_CUTS") == "all"
"""As `script/soak --power-cuts` has it: a daemon on the disk after each flush, with names in each manner."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(0 if EVERY else 400),
    pytest.mark.needs(binary="cc", apt="build-essential"),
    pytest.mark.skipif(sys.platform != "linux", reason="flushes are recorded through LD_PRELOAD and /proc"),
]
SEED: Final = 20
PARTS: Final = 3
CUTS_PER_PART: Final = 8
NAMES: Final[tuple[Names, ...]] = ("safe", "all", "some")
PAID: Final = frozenset({"committed", "publishing", "published"})


@dataclass(frozen=True, slots=True)
class Night:
    """A recorded night, and what was acknowledged in it: after which flush what holds for ever."""

    house: House
    record: Record
    on: int
    tickets: Mapping[str, int]

    def cut(self, number: int, names: Names, dice: random.Random, *, pattern: str = "*") -> None:
        """Put in place what a power cut right after a flush would have left, of what is named so."""
        house = self.house
        kept = [house.paths.local_forge, house.repo.remote / "refs"]
        disk = self.record.disk(number, root=house.paths.state, names=names, dice=dice)
        disk.build(pattern=pattern, kept=kept)


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    house = recorded_house(tmp_path)
    try:
        house.begin()
        on = flushes(house)
        first = house.add(source_key="first")
        tickets = {first: flushes(house), typed(house, "with the daemon"): flushes(house)}
        house.daemon.wait_for_state(first, "published")
        assert house.daemon.stop() == 0
        tickets |= {typed(house, "without the daemon"): flushes(house)}
        house.daemon.argv = RUN_DAEMON
        house.daemon.env = {
            name: house.daemon.env[name] for name in ("PATH", "HOME", "AUTOPILOT_SECRET_FORGE")
        }
        yield Night(house, Record(tmp_path / "record"), on, tickets)
    finally:
        house.clean_up()


def recorded_house(folder: Path) -> House:
    """Give a house whose daemon, and all that comes of it, leaves a record of its flushes."""
    record, shim = folder / "record", folder / "shim.so"
    for name in ("data", "tree"):
        (record / name).mkdir(parents=True)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(shim), str(HERE / "shim.c")], check=True)
    repo = small_repo(folder / "repositories")
    recording = {
        "LD_PRELOAD": str(shim),
        "POWERCUT_RECORD": str(record),
        "POWERCUT_ROOT": str(folder / "home" / "state"),
        "POWERCUT_KEEP": str(repo.remote / "refs"),
    }
    return House(folder, repo=repo, argv=(str(HERE / "powered.py"), "daemon", "run"), env=recording)


def flushes(house: House) -> int:
    """Count the flushes until now."""
    return int((house.folder / "record" / "number").read_text())


def typed(house: House, title: str) -> str:
    """Queue a ticket for next year by the command line, which says that it is queued."""
    done = house.daemon.autopilot("add", title, "--title", title, "--not-before", "2100-01-01T00:00:00Z")
    assert done.returncode == 0, done.stderr
    name: str = done.stdout.split()[1].rstrip(":")
    return name


def go_on(night: Night, number: int) -> None:
    """Start a daemon on the disk that is in place: nothing acknowledged is lost, nothing happens twice."""
    house = night.house
    house.daemon.start()
    state_of = {one["id"]: one["state"] for one in house.daemon.call("GET", "/v1/tickets")["tickets"]}
    assert {name for name, since in night.tickets.items() if number >= since} <= state_of.keys()
    if number >= night.on:
        assert house.daemon.call("GET", "/v1/status")["switch"]["is_on"]
    else:
        house.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
    before = state_of.get("T-1", "")
    name = house.add(source_key="first")
    ticket = house.daemon.wait_for_state(name, "published", "parked", "failed")
    assert ticket["state"] == "published", ticket["reason"]
    house.assert_in_order()
    assert len(house.pull_requests()) == 1
    assert house.count(Event.AGENT_STARTED) == (before not in PAID), (
        f"it was {before}: the agent is paid once"
    )


def test_a_power_cut_at_any_flush_leaves_a_whole_database_with_every_ticket_that_was_acknowledged(
    night: Night, record_property: Callable[[str, object], None]
) -> None:
    dice, tried = random.Random(SEED), 0  # noqa: S311 - the same cuts every time
    state = night.house.paths.state
    home = {state, *(state / f"autopilot.db{suffix}" for suffix in ("", "-wal", ".lock"))}
    for number in (one.number for one in night.record.flushes[night.on - 1 :] if one.path in home):
        for names in NAMES:
            night.cut(number, names, dice, pattern="autopilot.db*")
            store = open_store(night.house.paths.database, SystemClock(), role="daemon")
            with closing(store), store.read() as conn:
                found = {ticket.id for ticket in queries_tickets.tickets(conn)}
                assert queries_host.switch(conn).is_on
            assert {name for name, since in night.tickets.items() if number >= since} <= found
            tried += 1
    record_property("power cuts of the database", tried)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_disk_as_a_power_cut_leaves_it_loses_nothing_acknowledged_and_repeats_nothing(
    night: Night, part: int, record_property: Callable[[str, object], None]
) -> None:
    numbers = list(range(1, len(night.record.flushes) + 1))
    random.Random(SEED).shuffle(numbers)  # noqa: S311 - the same cuts every time
    dice, tried = random.Random(part), 0  # noqa: S311 - as above
    for number in islice(numbers, part, None, PARTS):
        if tried == CUTS_PER_PART and not EVERY:
            break
        for names in dice.sample(NAMES, len(NAMES) if EVERY else 2):
            told = f"flush {number} ({night.record.flushes[number - 1].path.name}), names: {names}"
            night.cut(number, names, dice)
            try:
                go_on(night, number)
            except AssertionError as fault:
                raise AssertionError(f"power cut after {told}: {fault}") from fault
            tried += 1
    record_property("power cuts", tried)
    assert tried == (len(NAMES) * len(numbers[part::PARTS]) if EVERY else CUTS_PER_PART)
