"""A daemon's loop that looks its machine over by a child that a test plays, and what such a child may say."""

from __future__ import annotations

import dataclasses

from autopilot.daemon.loop import Loop
from autopilot.daemon.probing import Probing
from autopilot.daemon.store import queries_host
from autopilot.daemon.watch import Ending
from autopilot.schemas.checkup import Area, Check, Checkup, CheckVerdict
from autopilot.schemas.ticket import Hold
from tests.support.shop import PlayedSupervisor, Stage

WELL = Ending("the process ended with code 0")
LOCKED = Check(
    name="credential gh",
    area=Area.CREDENTIALS,
    verdict=CheckVerdict.NO_GO,
    evidence="is locked",
    cure="unlock the key ring",
    scope="repo:shop",
    hold="credential",
)
SIGNED_OUT = LOCKED.model_copy(
    update={"name": "account of scripted", "scope": "agent:scripted", "hold": "agent-sign-in"}
)
BROKEN = LOCKED.model_copy(update={"name": "sandbox", "scope": "host", "hold": "sandbox-broken"})
DULL = LOCKED.model_copy(update={"name": "push to shop", "hold": ""})


class Looking:
    """A loop with the chore under test, and a child that a test plays."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.supervisor = PlayedSupervisor(clock=stage.clock, inbox=stage.inbox)
        self.probing = Probing(self.supervisor)
        self.shop = dataclasses.replace(stage.shop, probing=self.probing)
        self.loop = Loop(self.shop, chores=(self.probing,))
        self.report = stage.paths.state / "checkup" / "look.json"

    @property
    def looks(self) -> int:
        return len(self.supervisor.launches)

    def answer(self, *lines: Check, ending: Ending = WELL, raw: str | None = None) -> None:
        """Let the child end with these lines, or with these bytes for a report."""
        told = Checkup(go=not lines, checks=lines).model_dump_json() if raw is None else raw
        self.report.write_text(told)
        self.supervisor.end(self.supervisor.launches[-1].order.key, ending)

    def holds(self) -> dict[str, Hold]:
        with self.stage.store.read() as conn:
            return {hold.name: hold for hold in queries_host.holds(conn)}
