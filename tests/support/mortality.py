"""Who dies where, and what came of it: a test's side of `mortal.py`, and how many kills there were."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from autopilot.config import procinfo
from autopilot.config.journal import read_lines
from autopilot.daemon.store import queries_host, queries_tickets
from autopilot.daemon.store.engine import Store
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.ticket import Ticket
from tests.support.house import House
from tests.support.mortal import VARIABLE
from tests.support.small_project import small_repo
from tests.support.wait import PATIENT_S, wait_until

MORTAL: Final = Path(__file__).with_name("mortal.py")
ENDLESS: Final = """\
cost_ceiling_usd = 100000
ticket_ceiling_usd = 100000
sessions_per_ticket = 10000
releases_per_ticket = 10000
attempts_per_ticket = 10000
"""
NO_BREAKER: Final = "[breaker]\nopen_after = 10000\n"
HALF: Final = frozenset({"torn", "unnamed", "cut"})
EVERY_MANNER: Final = ("before", "torn", "unnamed", "cut", "after")
LONG_AGO: Final = (
    "UPDATE firings SET schedule = 'digest 1970-01-01', nominal_ms = 0 WHERE schedule LIKE 'digest %'"
)
LONG_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Whose steps are fatal, and for whom.

    `kills` is empty for the process that meets the step alone; it may name the daemon instead, or both. A
    chain of deaths is cut into `stripes` so that two workers can share it.
    """

    role: str
    kills: Sequence[str] = ()
    manners: Sequence[str] = EVERY_MANNER
    steps: str = ""
    """A pattern of the steps that are meant; empty: every one."""
    is_asked: bool = False
    """The daemon is sent TERM at the step, and nobody dies."""
    fills: str = ""
    """A file: at the step it takes every byte of its disk that is free, and nobody dies."""
    stripe: int = 0
    stripes: int = 1

    def is_fatal(self, step: str) -> bool:
        """Tell whether somebody must die at this step."""
        manner = step.rpartition(" ")[2]
        if manner in HALF and self.role not in (self.kills or [self.role]):
            return False
        mine = zlib.crc32(step.encode()) % self.stripes == self.stripe
        return mine and manner in self.manners

    def __str__(self) -> str:
        """Name it in a test's id."""
        dying = "-and-".join(self.kills or [self.role])
        return f"{dying}-at-steps-of-a-{self.role}-{self.stripe + 1}-of-{self.stripes}"

    def as_json(self) -> bytes:
        """Give what `mortal.py` reads."""
        return json.dumps(
            {
                "role": self.role,
                "kills": list(self.kills or [self.role]),
                "manners": list(self.manners),
                "steps": self.steps,
                "is_asked": self.is_asked,
                "fills": self.fills,
                "stripe": self.stripe,
                "stripes": self.stripes,
            }
        ).encode()


NOBODY: Final = Plan(role="nobody")


def mortal_house(folder: Path, *, home: Path | None = None) -> Mortality:
    """Give a house with a project that takes no time, limits that no chain of deaths reaches, and mortals."""
    plan = folder / "plan"
    plan.mkdir()
    house = House(
        folder,
        settings=ENDLESS,
        home=home,
        repo=small_repo(folder / "repositories"),
        argv=(str(MORTAL), "daemon", "run"),
        env={VARIABLE: str(plan)},
        has_stem=True,
    )
    with house.paths.config_file.open("a", encoding="utf-8") as file:
        file.write(NO_BREAKER)
    return Mortality(house, plan)


class Mortality:
    """A house whose processes die by plan, and somebody who starts the daemon again each time."""

    def __init__(self, house: House, folder: Path) -> None:
        """Take the house, whose daemon runs `mortal.py`, and the plan's folder."""
        self.house, self.folder = house, folder
        self.daemons_found_dead = 0
        self.plan, self.steps_before = NOBODY, 0
        self.follow(NOBODY)

    def follow(self, plan: Plan) -> None:
        """Let processes die by this plan from now on."""
        draft = self.folder / "plan.part"
        draft.write_bytes(plan.as_json())
        draft.rename(self.folder / "plan.json")
        if plan is not NOBODY:
            self.plan, self.steps_before = plan, len(self.steps())

    def deaths(self) -> tuple[Mapping[str, Any], ...]:
        """Give every death, in order."""
        return read_lines(self.folder / "deaths.jsonl").entries

    def steps(self) -> tuple[Mapping[str, Any], ...]:
        """Give every step that any process has reached, in order."""
        return read_lines(self.folder / "steps.jsonl", max_bytes=1 << 30).entries

    def fatal_steps(self, plan: Plan) -> set[str]:
        """Name the steps reached so far at which a plan wants a death."""
        return {
            one["step"] for one in self.steps() if one["role"] == plan.role and plan.is_fatal(one["step"])
        }

    def missed(self) -> list[str]:
        """Name the steps at which somebody should have died, since the plan was followed, and nobody has."""
        died = {death["step"] for death in self.deaths() if death["role"] == self.plan.role}
        reached = {one["step"] for one in self.steps()[self.steps_before :] if one["role"] == self.plan.role}
        return sorted(step for step in reached - died if self.plan.is_fatal(step))

    def lives(self) -> Counter[str]:
        """Count the processes of each role that there were."""
        return Counter(role for role, _ in {(one["role"], tuple(one["me"])) for one in self.steps()})

    def add(self) -> str:
        """Queue a ticket, however often the daemon dies of it."""

        def is_queued() -> str:
            self.revive()
            with suppress(AutopilotError):
                return self.house.add(source_key="one")
            return ""

        return wait_until(is_queued, LONG_S, "the ticket is queued")

    def until(self, store: Store, name: str, state: State) -> Ticket:
        """Start the daemon as often as it dies, and a lost ticket again, until it has reached a state."""

        def has_arrived() -> Ticket | None:
            self.revive()
            with store.read() as conn:
                ticket = queries_tickets.ticket(conn, name)
            assert ticket is not None, f"{name} is lost"
            if ticket.state is State.PARKED:
                assert ticket.waiting_for == WaitingFor.RUNNER_LOST, (ticket.reason, self.house.daemon.said())
                self.ask("POST", f"/v1/tickets/{name}/resume")
            assert ticket.state not in {State.FAILED, State.CANCELLED}, ticket
            return ticket if ticket.state is state else None

        return wait_until(has_arrived, LONG_S, f"{name} is {state}; {self.deaths()[-3:]}")  # type: ignore[return-value]

    def until_told(self, store: Store, name: str) -> None:
        """Make the digest due, and wait until it tells of a ticket and is noted as written."""
        digests = self.house.paths.digests

        def is_begun() -> bool:
            self.revive()
            self.ask("POST", "/v1/nudge")
            with store.read() as conn:
                return queries_host.last_firing(conn, "digest") is not None

        # Each daemon may have died before it came to the digest: the first that does only notes it.
        wait_until(
            is_begun,
            LONG_S,
            f"the schedule of digests has begun; {self.house.daemon.said()}",
            longest_pause_s=PATIENT_S,
        )
        with closing(sqlite3.connect(store.database, timeout=LONG_S)) as conn, conn:
            conn.execute("PRAGMA wal_autocheckpoint=0")
            assert conn.execute(LONG_AGO).rowcount == 1

        def is_told() -> bool:
            self.revive()
            self.ask("POST", "/v1/nudge")
            with store.read() as conn:
                return (queries_host.last_firing(conn, "digest") or 0) > 0

        wait_until(
            is_told, LONG_S, f"the digest is written; {self.house.daemon.said()}", longest_pause_s=PATIENT_S
        )
        assert any(name in path.read_text(encoding="utf-8") for path in digests.glob("*.md"))

    def _is_up(self) -> bool:
        self.revive()
        return self.ask("POST", "/v1/nudge")

    def ask(self, method: str, path: str, **body: object) -> bool:
        """Ask the daemon; False when it did not live to answer."""
        with suppress(AutopilotError):
            self.house.daemon.call(method, path, **body)
            return True
        return False

    def revive(self) -> None:
        """Start the daemon again when it is dead; only a kill may have ended it."""
        process = self.house.daemon.process
        assert process is not None
        if process.poll() is not None:
            assert process.returncode == -9, f"ended with {process.returncode}: {self.house.daemon.said()}"
            self.daemons_found_dead += 1
            self.house.daemon.start(is_awaited=False)

    def calm(self) -> None:
        """Let nobody die any more, and wait until the daemon answers."""
        self.follow(NOBODY)
        wait_until(self._is_up, LONG_S, "the daemon answers", longest_pause_s=PATIENT_S)

    def killed(self) -> Counter[str]:
        """Count who was really killed: daemons that were found dead of it, and others that are gone."""
        found = Counter(victim for victim, _, _ in self._victims())
        for victim, pid, started_ms in self._victims():
            is_alive = victim != "daemon" and procinfo.is_alive(procinfo.ProcessId(pid, started_ms))
            assert not is_alive, f"the {victim} {pid} is said to be killed and lives"
        assert found["daemon"] <= self.daemons_found_dead, self.deaths()
        return found

    def _victims(self) -> Iterator[tuple[str, int, int]]:
        for death in self.deaths():
            for victim, (pid, started_ms) in death["killed"].items():
                yield victim, pid, started_ms
