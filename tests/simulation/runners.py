"""Virtual runners: they start, speak, spend, finish, die, hang, and write halves and lies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autopilot.config.atomic import write_atomically
from autopilot.config.journal import append_line
from autopilot.schemas.gate import MANDATORY_GATES
from autopilot.schemas.run import Lease
from tests.simulation.ends import ChildHangs, Script
from tests.simulation.table import Process, unread

if TYPE_CHECKING:
    from tests.simulation.world import World

_PLANS = (
    ("committed", 40), ("no-changes", 4), ("asked", 5), ("gates-failed", 4), ("agent-failed", 10),
    ("agent-missing", 2), ("credential", 2), ("usage-limit", 6), ("over-ceiling", 3), ("timed-out", 3),
    ("infrastructure", 5), ("base-branch", 2), ("configuration", 2), ("stopped", 2), ("bug", 3),
    ("dies", 12), ("hangs", 6), ("freezes", 4), ("half", 5), ("foreign", 5), ("lingers", 3), ("red", 2),
    ("no-room", 3), ("over-budget", 2),
)  # fmt: skip
# Without faults agents fail all the same; what then waits must be woken by the clock alone.
_CALM_PLANS = (
    *(("committed", 18), ("no-changes", 1), ("asked", 1), ("agent-failed", 2), ("infrastructure", 1)),
)


class Runner:
    """One runner, by the spec it was given."""

    def __init__(self, world: World, process: Process, spec_file: Path) -> None:
        spec = json.loads(spec_file.read_bytes())
        self._world = world
        self._process = process
        self._folder = spec_file.parent
        self._spec: dict[str, Any] = spec
        self._ceiling: int = spec["limits"]["run_ceiling_micro_usd"]
        self._cost = 0
        process.script = unread() if world.is_fault(0.01) else self._live()
        process.due_ms = world.clock.awake_ms + world.chance.between(50, 3000)
        process.hold(Lease.model_validate(spec["lease"]))
        listens = not world.is_fault(0.15)
        process.on_term = self._stop() if listens else None

    @property
    def run_id(self) -> str:
        name: str = self._spec["run_id"]
        return name

    def _live(self) -> Script:
        world, chance = self._world, self._world.chance
        plan = chance.weighted(_CALM_PLANS if world.is_calm or world.is_smooth else _PLANS)
        world.note(f"{self.run_id} plans: {plan}")
        for _ in range(chance.between(0, 2)):
            self._spend(chance.between(0, (self._ceiling - self._cost) // 2))
            if plan == "dies" and chance.is_hit(0.4):
                return (yield from self._die())
            self._tell()
            yield chance.between(100, 8000)
        if plan == "over-ceiling":
            yield from self._overshoot()
        return (yield from self._end(plan))

    def _overshoot(self) -> Iterator[int]:
        """One last step, begun below the ceiling, that costs more than was left; it is told later."""
        left, chance = self._ceiling - self._cost, self._world.chance
        self._spend(left + chance.one_of([0, 1, chance.between(0, self._ceiling)]))
        yield chance.between(1, 20_000)
        self._tell()
        if chance.is_hit(0.3):
            yield chance.between(1, 20_000)

    def _end(self, plan: str) -> Script:
        match plan:
            case "dies":
                return (yield from self._die())
            case "hangs":
                raise ChildHangs
            case "freezes":
                self._process.is_frozen = True
                yield 1
                self._write(self._result("committed"))
            case "half":
                text = json.dumps(self._result("committed"))
                (self._folder / "result.json").write_text(text[: self._world.chance.between(0, len(text))])
            case "foreign":
                self._write(self._foreign())
            case "red":
                self._write(self._result("committed") | {"gates": []})
            case "no-room":
                return 70
            case "lingers":
                self._write(self._result("committed"))
                raise ChildHangs
            case _:
                self._write(self._result(plan))
        yield self._world.chance.between(10, 500)
        return 0

    def _die(self) -> Script:
        """Killed; now and then its agent lives on, spends and says nothing."""
        if self._world.chance.is_hit(0.5):
            agent = self._world.table.add("agent", self.run_id)
            agent.script = self._orphan()
            agent.due_ms = self._world.clock.awake_ms + 10
        yield 1
        return -9

    def _orphan(self) -> Script:
        for _ in range(3):
            self._spend((self._ceiling - self._cost) // 4)
            yield self._world.chance.between(10, 60_000)
        raise ChildHangs

    def _stop(self) -> Script:
        """Asked to end: write how far it came, or not even that."""
        if not self._world.is_fault(0.2):
            self._write(self._result("stopped"))
        yield self._world.chance.between(1, 3000)
        return 0

    def _spend(self, micro_usd: int) -> None:
        """Money is gone the moment it is spent, whoever hears of it."""
        self._cost += micro_usd
        self._world.purse.spend(self.run_id, micro_usd, ceiling=self._ceiling)

    def _tell(self) -> None:
        journal, entry = self._folder / "events.jsonl", {"event": "agent.spent", "cost_micro_usd": self._cost}
        if self._world.is_fault(0.05):
            with journal.open("ab") as file:
                file.write(json.dumps(entry).encode()[: self._world.chance.between(0, 20)])
            return
        append_line(journal, entry)
        self._world.purse.hear(self.run_id, self._cost)

    def _write(self, result: dict[str, Any]) -> None:
        if self._world.is_fault(0.03):
            return  # no room for it
        write_atomically(self._folder / "result.json", json.dumps(result).encode())
        if result["usage"]["known"]:
            self._world.purse.hear_result(self.run_id, self._cost)
        self._world.note(f"{self.run_id} wrote {result['outcome']}")

    def _result(self, outcome: str) -> dict[str, Any]:
        spec, world = self._spec, self._world
        is_green = outcome == "committed"
        head = world.new_sha() if is_green else None
        base = world.forge.remote(spec["repo"]["name"]).base_sha
        is_known = not world.is_fault(0.1)
        return {
            **{name: spec[name] for name in ("run_id", "ticket_id", "attempt", "fence", "branch")},
            "outcome": outcome,
            "code": outcome,
            "message": f"it ended as {outcome}",
            "base": "main" if is_green else None,
            "base_sha": base if is_green else None,
            "head": head,
            "gates": [_green(name, head, base) for name in MANDATORY_GATES] if head else [],
            "usage": {"cost_micro_usd": self._cost if is_known else 0, "known": is_known},
            "questions": ["which one?", "how many?"] if outcome == "asked" else [],
            "resets_ms": world.clock.wall_ms + 90_000 if outcome == "usage-limit" else None,
            "started_ms": spec["created_ms"],
            "finished_ms": max(0, world.clock.wall_ms),
        }

    def _foreign(self) -> dict[str, Any]:
        """A result that looks like ours and is another run's."""
        lie = self._world.chance.one_of(["fence", "attempt", "run_id", "branch", "head"])
        result = self._result("committed")
        return result | {lie: {"fence": result["fence"] + 1, "attempt": 9, "head": None}.get(lie, "T-1-a9-x")}


def _green(gate: str, head: str, base: str) -> dict[str, Any]:
    return {
        "gate": gate, "verdict": "passed", "mandatory": True, "head": head, "base": base,
        "started_ms": 1, "duration_ms": 1,
    }  # fmt: skip
