"""Drafts that wait for review in a shop, and the answers to what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from autopilot.daemon.drafts import Drafts
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.daemon.watch import Ending
from autopilot.schemas.publication import PullState, PullStateReport, PullStateSpec
from tests.support import queue, records
from tests.support.shop import PlayedSupervisor, Stage

ENDED: Final = Ending("the process ended with code 0")


class Asking:
    """The chore that asks, with children that a test plays."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.supervisor = PlayedSupervisor(clock=stage.clock, inbox=stage.inbox)
        self.drafts = Drafts(self.supervisor)
        self.loop = Loop(stage.shop, chores=(self.drafts,))

    def specs(self) -> list[PullStateSpec]:
        """What each child was told, in order; the file of a repository holds its last question."""
        return [_spec(Path(launch.argv[-1])) for launch in self.supervisor.launches]

    def answer(self, states: Sequence[str], *, ending: Ending = ENDED, **changed: object) -> None:
        """Let the last child answer in the order of its questions, and end."""
        spec = self.specs()[-1]
        answers = [
            PullState.model_validate({"publication": asked.publication, "state": state})
            for asked, state in zip(spec.pulls, states, strict=False)
        ]
        report = {"id": spec.id, "answers": answers, "finished_ms": 1, **changed}
        spec.report.write_text(PullStateReport.model_validate(report).model_dump_json())
        self.end(ending)

    def end(self, ending: Ending = ENDED, *, nth: int = -1) -> None:
        """Let a child end, whatever it has written; the last one by default."""
        self.supervisor.end(self.supervisor.launches[nth].order.key, ending)


def publish_drafts(stage: Stage, number: int = 5, *, repo: str = "shop") -> list[str]:
    """Bring so many tickets to a draft, with the switch on."""
    writes.turn_on(stage.store, by="test")
    tickets = [queue.add(stage.store, f"Draft {each}", repo=repo) for each in range(number)]
    return [queue.publish(stage.store, queue.commit(stage.store, ticket)).id for ticket in tickets]


def pr_states(stage: Stage, repo: str = "shop") -> list[str | None]:
    """What we know of each pull request, oldest first."""
    with stage.store.read() as conn:
        return [one.pr_state for one in records.publications(conn) if one.repo == repo]


def _spec(path: Path) -> PullStateSpec:
    return PullStateSpec.model_validate_json(path.read_bytes())
