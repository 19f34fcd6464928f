"""What must hold after every transaction, whoever died and whatever failed.

Reads the file by itself, with plain SQL, only when it has changed: a seed is looked at some hundred times.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from autopilot.daemon.budget import ROLLING_MS
from autopilot.schemas.machine import State, Trigger, target
from tests.simulation import deliveries
from tests.simulation.ends import Broken

if TYPE_CHECKING:
    from tests.simulation.world import World

Row = sqlite3.Row
# Only the columns that are looked at, for they are read some hundred times in a seed.
_TICKETS = (
    "SELECT short_id, state, repo, branch, attempts, releases, sessions, cancel_requested, waiting_for,"
    " reason, claim_token, fence, run_id, head, pr_url, spent_micro_usd FROM tickets ORDER BY short_id"
)
_ATTEMPTS = (
    "SELECT run_id, ticket, agent, repo, fence, claim_token, state, reserved_micro_usd, spent_micro_usd"
    " FROM attempts"
)
# What a move adds to attempts, sessions, releases and fence.
_COUNTS = {
    "claim": (1, 1, 0, 1),
    "pass": (0, 0, 0, 0),
    "retry": (0, 0, 0, 0),
    "release": (-1, 0, 1, 0),
    "fail": (0, 0, 0, 0),
    "begin_publish": (0, 0, 0, 1),
    "publish_later": (0, 0, 0, 0),
    "publish_done": (0, 0, 0, 0),
}


class Invariants:
    """One observer of one seed's database."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._raw = world.vault.observer
        self._version = -1
        self._history_id = 0
        self._replayed: dict[int, str] = {}
        self._fences: Counter[int] = Counter()
        self._ended_ms: dict[str, int] = {}
        self.tickets: list[Row] = []
        self.attempts: list[Row] = []

    def rows(self, statement: str, *values: Any) -> list[Row]:
        return self._raw.execute(statement, values).fetchall()

    def look(self) -> None:
        """Compare everything with everything, if anything was written.

        Raises:
            Broken: the first fault found.
        """
        (version,) = self._raw.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        self._version = version
        self._raw.execute("BEGIN")
        try:
            before = {row["short_id"]: row for row in self.tickets}
            self.tickets = self.rows(_TICKETS)
            self.attempts = self.rows(_ATTEMPTS)
            for row in self.attempts:
                if row["state"] == "finished":
                    self._ended_ms.setdefault(row["run_id"], self._world.clock.known_ms)
            moves = self.rows("SELECT * FROM history WHERE id > ? ORDER BY id", self._history_id)
            faults = [
                *self._moves(moves),
                *self._counters(moves, before),
                *self._tickets(),
                *self._runs(),
                *self._money(),
                *self._brakes(),
            ]
            faults += deliveries.faults(self._world, self.rows, self.tickets)
        finally:
            self._raw.execute("COMMIT")
        if faults:
            raise Broken(faults[0])

    def _row(self, number: int) -> Row:
        return next(row for row in self.tickets if row["short_id"] == number)

    def restless(self) -> list[str]:
        """Name the tickets that nobody but the daemon can move: by the state, and what would hold them."""
        rules, states = self._world.rules_now(), {row["short_id"]: row["state"] for row in self.tickets}
        waits: dict[int, list[int]] = {}
        for row in self.rows("SELECT * FROM dependencies"):
            waits.setdefault(row["ticket"], []).append(row["depends_on"])
        stuck: set[int] = set()
        for row in self.tickets:  # by number: a ticket waits for older ones only
            number = row["short_id"]
            is_held = row["state"] == "queued" and (
                row["spent_micro_usd"] + rules.run_ceiling_micro_usd > rules.ticket_ceiling_micro_usd
                or row["sessions"] >= rules.sessions_per_ticket
                or any(need in stuck for need in waits.get(number, ()))
            )
            if is_held or states[number] in {"parked", "failed", "cancelled"}:
                stuck.add(number)
        moving = [row for row in self.tickets if row["short_id"] not in stuck and row["state"] != "published"]
        return [f"T-{row['short_id']} is {row['state']} {row['reason']}" for row in moving]

    def _moves(self, moves: list[Row]) -> Iterator[str]:
        """History replays through the table of moves, and only a person moves what waits for one."""
        for move in moves:
            self._history_id, number = move["id"], move["ticket"]
            self._world.note(
                f"T-{number} {move['from_state']} --{move['trigger']}--> {move['to_state']} {move['reason']}"
            )
            before, trigger = self._replayed.get(number), Trigger(move["trigger"])
            if move["from_state"] != before:
                yield f"T-{number}: history jumps from {before} to {move['from_state']}"
            if target(State(before) if before else None, trigger) != move["to_state"]:
                yield f"T-{number}: {before} --{trigger}--> {move['to_state']} is no move"
            if before == "parked" and move["by"] == "daemon":
                yield f"T-{number}: the daemon moved a parked ticket by {trigger}"
            self._replayed[number] = move["to_state"]
            self._fences[number] += trigger in {Trigger.CLAIM, Trigger.BEGIN_PUBLISH}
            if trigger is Trigger.CLAIM:
                yield from self._claim(move)
            elif trigger is Trigger.PUBLISH_DONE:
                yield from deliveries.delivered(self._world, self.rows, self._row(number))
            elif before == "publishing" and trigger is Trigger.PARK:
                yield from deliveries.refused(self._world, move, self._row(number))

    def _counters(self, moves: list[Row], before: dict[int, Row]) -> Iterator[str]:
        """One move counts what it uses, and forgets no cancel: a running ticket asked to end does."""
        if len(moves) != 1 or moves[0]["ticket"] not in before:
            return
        (move,) = moves
        was = before[move["ticket"]]
        now = next(row for row in self.tickets if row["short_id"] == move["ticket"])
        grown = tuple(now[name] - was[name] for name in ("attempts", "sessions", "releases", "fence"))
        expected = _COUNTS.get(move["trigger"])
        if expected is not None and grown != expected:
            yield f"T-{move['ticket']}: {move['trigger']} counted {grown}, not {expected}"
        if was["cancel_requested"] and was["state"] == "running" and now["state"] != "cancelled":
            yield f"T-{move['ticket']}: asked to end while running, and is {now['state']}"

    def leftovers(self) -> list[str]:
        """Name what stands after everything has come to rest, and should not."""
        waiting = [row for row in self.tickets if row["state"] == "queued"]
        holds = self.rows("SELECT * FROM holds")
        faults = [
            f"hold {row['name']} without cause or cure" for row in holds if not (row["cause"] and row["cure"])
        ]
        faults += [f"hold {row['name']} of {row['scope']} keeps nobody" for row in holds if not waiting]
        half_open = self.rows("SELECT scope FROM breakers WHERE state = 'half-open'")
        return faults + [f"the breaker of {row['scope']} waits for ever" for row in half_open]

    def _claim(self, move: Row) -> Iterator[str]:
        """Every limit holds at the moment of a claim."""
        rules, now_ms = self._world.rules_now(), move["at_ms"]
        live = [row for row in self.attempts if row["state"] == "running"]
        run = next((row for row in live if row["run_id"] == move["run_id"]), None)
        if run is None:
            yield f"{move['run_id']}: claimed without a live attempt"
            return
        settled = self._settled()
        promised = sum(max(row["spent_micro_usd"], row["reserved_micro_usd"]) for row in live)
        self._world.purse.allow(rules.cost_ceiling_micro_usd, self.attempts)
        if settled + promised > rules.cost_ceiling_micro_usd:
            yield f"{run['run_id']}: claimed with {settled} spent and {promised} promised"
        if 0 < rules.max_parallel_agents < len(live):
            yield f"{run['run_id']}: {len(live)} runs at once"
        here = [row for row in live if row["repo"] == run["repo"]]
        if 0 < rules.per_repo_parallel < len(here):
            yield f"{run['run_id']}: {len(here)} runs at once in {run['repo']}"
        ticket = next(row for row in self.tickets if row["short_id"] == run["ticket"])
        if ticket["spent_micro_usd"] + run["reserved_micro_usd"] > rules.ticket_ceiling_micro_usd:
            yield f"T-{run['ticket']}: claimed with {ticket['spent_micro_usd']} spent"
        if run["reserved_micro_usd"] != rules.run_ceiling_micro_usd:
            yield f"{run['run_id']}: reserved {run['reserved_micro_usd']}"
        for name, limit in (("attempts", rules.attempts_per_ticket), ("sessions", rules.sessions_per_ticket)):
            if ticket[name] > limit:
                yield f"T-{run['ticket']}: {ticket[name]} {name}"
        (switch,) = self.rows("SELECT * FROM switch")
        is_on = switch["is_on"] and (switch["until_ms"] is None or now_ms < switch["until_ms"])
        if not is_on:
            yield f"{run['run_id']}: claimed while the switch stands at off"
        yield from self._probing(run)

    def _settled(self) -> int:
        """Sum what ended in the last 24 hours, by when we saw it and not by its stamp."""
        since_ms = self._world.clock.known_ms - ROLLING_MS
        ended = [row for row in self.attempts if row["state"] == "finished"]
        return sum(row["spent_micro_usd"] for row in ended if self._ended_ms[row["run_id"]] > since_ms)

    def _probing(self, run: Row) -> Iterator[str]:
        """Where a brake is not released, a run that starts is its one probe."""
        scopes = ("host", f"agent:{run['agent']}", f"repo:{run['repo']}")
        held = self.rows("SELECT scope AS name, probe_run_id FROM breakers WHERE state <> 'closed'")
        held = [row for row in held if row["name"] in scopes]
        held += self.rows(
            "SELECT agent AS name, probe_run_id FROM agent_windows WHERE agent = ?", run["agent"]
        )
        for row in held:
            if row["probe_run_id"] != run["run_id"]:
                yield f"{run['run_id']}: started past the brake of {row['name']} ({row['probe_run_id']})"

    def _tickets(self) -> Iterator[str]:
        """No ticket is lost, and no claim shares a fence with another."""
        known = {row["short_id"] for row in self.tickets}
        yield from (f"T-{number}: lost" for number in sorted(self._world.added - known))
        for row in self.tickets:
            number = row["short_id"]
            if self._replayed.get(number) != row["state"]:
                yield f"T-{number} is {row['state']}, its history ends at {self._replayed.get(number)}"
            if row["fence"] != self._fences[number]:
                yield f"T-{number}: fence {row['fence']} after {self._fences[number]} claims"

    def _runs(self) -> Iterator[str]:
        """A running ticket has one live attempt of its claim; a runner has a running ticket."""
        live: dict[int, list[Row]] = {}
        for row in self.attempts:
            if row["state"] == "running":
                live.setdefault(row["ticket"], []).append(row)
        counted = Counter(row["ticket"] for row in self.attempts)
        for row in self.tickets:
            number, mine = row["short_id"], live.pop(row["short_id"], [])
            claims = [(run["run_id"], run["fence"], run["claim_token"]) for run in mine]
            wanted = [(row["run_id"], row["fence"], row["claim_token"])] if row["state"] == "running" else []
            if claims != wanted:
                yield f"T-{number} is {row['state']} as {wanted}, its live attempts are {claims}"
            if row["sessions"] != counted[number] or row["attempts"] > row["sessions"]:
                yield f"T-{number}: {row['sessions']} sessions and {counted[number]} runs"
        yield from (f"T-{number}: live attempts of no ticket" for number in live)
        running = {row["run_id"] for row in self.attempts if row["state"] == "running"}
        for process in self._world.table.living:
            if process.kind in {"runner", "agent"} and process.mark not in running:
                yield f"{process.kind} {process.mark} lives, but its run has ended"

    def _money(self) -> Iterator[str]:
        """Every run is reserved once and settled once, never below what it really cost."""
        purse, kinds, charged, ever = (
            self._world.purse,
            Counter[tuple[str, str]](),
            Counter[str](),
            Counter[int](),
        )
        for entry in self.rows("SELECT run_id, kind, micro_usd, ticket FROM ledger"):
            kinds[entry["run_id"], entry["kind"]] += 1
            if entry["kind"] != "reserved":
                charged[entry["run_id"]] += entry["micro_usd"]
                ever[entry["ticket"]] += entry["micro_usd"]
        for row in self.attempts:
            run, is_over = row["run_id"], row["state"] == "finished"
            if (kinds[run, "reserved"], kinds[run, "settled"]) != (1, int(is_over)):
                entries = (kinds[run, "reserved"], kinds[run, "settled"])
                yield f"{run} ({row['state']}): reserved and settled {entries}"
            if is_over and charged[run] != row["spent_micro_usd"]:
                yield f"{run}: charged {charged[run]}, recorded {row['spent_micro_usd']}"
            if is_over and charged[run] < purse.owed(run):
                yield f"{run}: charged {charged[run]}, but it cost {purse.by_run[run]}"
        for row in self.tickets:
            if row["spent_micro_usd"] != ever[row["short_id"]]:
                yield f"T-{row['short_id']}: spent {row['spent_micro_usd']}, charged {ever[row['short_id']]}"
        if (paid := purse.in_a_day()) > (most := purse.allowed()):
            yield f"{paid} spent in a day, over {most}"

    def _brakes(self) -> Iterator[str]:
        """A probe is one, and it runs."""
        running = {row["run_id"] for row in self.attempts if row["state"] == "running"}
        rows = self.rows("SELECT 'window of ' || agent AS name, probe_run_id FROM agent_windows")
        rows += self.rows("SELECT 'breaker of ' || scope AS name, probe_run_id FROM breakers")
        for row in rows:
            if row["probe_run_id"] is not None and row["probe_run_id"] not in running:
                yield f"{row['name']}: waits for the probe {row['probe_run_id']}, which does not run"
