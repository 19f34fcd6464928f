"""What goes out of a shop through its channels, with publishers that a test plays."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from autopilot.daemon.delivery.courier import Courier
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.store import deliveries
from autopilot.daemon.store.deliveries import Delivery
from autopilot.daemon.watch import Ending
from autopilot.schemas.delivery import DeliveryReport, DeliverySpec
from tests.support.shop import PlayedSupervisor, Stage

ENDED: Final = Ending("the process ended with code 0")
KILLED: Final = Ending("the process was killed by signal 9")
TEAM = 'channels.team = { kind = "webhook", credential = "team-hook" }\n'
DESK = 'channels.desk = { kind = "command", argv = ["mail", "pat"] }\n'


class Errands:
    """The loop with the digest and its courier, as the daemon wires them."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.restart()
        self.loop.tick()

    def restart(self) -> None:
        """Another daemon: nothing but the store and the files is known."""
        self.supervisor = PlayedSupervisor(clock=self.stage.clock, inbox=self.stage.inbox)
        self.courier = Courier(self.supervisor)
        self.loop = Loop(self.stage.shop, chores=(write_digest_if_due, self.courier))

    def morning(self) -> None:
        """The next digest falls due, and is written."""
        self.stage.clock.advance(24 * 3600)
        self.loop.tick()

    def specs(self) -> list[DeliverySpec]:
        """What each publisher was told, in order; the file of a delivery holds its last try."""
        files = [Path(launch.argv[-1]) for launch in self.supervisor.launches]
        return [DeliverySpec.model_validate_json(file.read_bytes()) for file in files]

    def ends(self, outcome: str = "", *, nth: int = -1, ending: Ending = ENDED, **facts: object) -> None:
        """Let a publisher end, with a report of this outcome or without any, and the loop see it."""
        spec = self.specs()[nth]
        if outcome:
            told = {"id": spec.id, "outcome": outcome, "finished_ms": 1, **facts}
            spec.report.write_text(DeliveryReport.model_validate(told).model_dump_json())
        self.supervisor.end(self.supervisor.launches[nth].order.key, ending)
        self.loop.tick()

    def all(self) -> list[Delivery]:
        """Every delivery there ever was, in order."""
        with self.stage.store.read() as conn:
            both = (*deliveries.ended_since(conn, 0), *deliveries.unfinished(conn))
        return sorted(both, key=lambda one: one.id)

    def states(self) -> list[str]:
        """How each of them stands."""
        return [one.state for one in self.all()]
