"""A state folder with tickets whose runs have real worktrees and repositories, for cleaning up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autopilot.config.paths import SPEC_FILE
from autopilot.daemon import specs, transitions_publish
from autopilot.daemon.gc.item import Item
from autopilot.daemon.gc.report import Report
from autopilot.daemon.gc.survey import survey
from autopilot.daemon.gc.sweep import sweep
from autopilot.daemon.store import writes
from autopilot.daemon.store.rows import Claim
from autopilot.runner.state import create_state
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.run import Outcome, RunSpec
from tests.support import queue
from tests.support.repos import Repo
from tests.support.runs import Host
from tests.support.shop import Stage
from tests.support.state_documents import state
from tests.support.words import AGENT

DAY_S = 24 * 3600.0


@dataclass(frozen=True)
class Yard:
    """The stage, the repository that its tickets are about, and the runner's places."""

    stage: Stage
    repo: Repo

    @property
    def host(self) -> Host:
        return Host(self.stage.paths.state)

    def run(self, title: str = "Fix the sum") -> RunSpec:
        """A running ticket whose agent has changed a file."""
        writes.turn_on(self.stage.store, by="test", ignore_window=True)
        claim = queue.claim(self.stage.store, queue.add(self.stage.store, title), agent=AGENT)
        paths = self.stage.paths
        spec = specs.run_spec(claim, (), settings=self.stage.settings, paths=paths, now_ms=1)
        repo = spec.repo.model_copy(update={"url": self.repo.url, "base": "main"})
        spec = spec.model_copy(update={"repo": repo})
        spec.run_dir.mkdir()
        (spec.run_dir / SPEC_FILE).write_text(spec.model_dump_json())
        create_state(spec.run_dir / "agent-state.json", state(runId=spec.run_id))
        self.host.cut(spec)
        (spec.worktree / "answer.txt").write_text("right\n")
        return spec

    def claim_of(self, spec: RunSpec) -> Claim:
        ticket = queue.look(self.stage.store, spec.ticket_id)
        return Claim(ticket, queue.attempts(self.stage.store, ticket)[-1])

    def publish(self, spec: RunSpec, outcome: PublishOutcome = PublishOutcome.PR_OPENED) -> None:
        """Bring its ticket to published."""
        store, claim = self.stage.store, self.claim_of(spec)
        ticket = queue.end(store, claim, queue.result(claim, gates=queue.gates(queue.HEAD)))
        live = transitions_publish.begin_publish(store, ticket, base="main", base_sha=queue.BASE)
        queue.end_publish(store, live, queue.verdict(live, outcome))

    def end(self, spec: RunSpec, outcome: Outcome) -> None:
        """Let its run end."""
        claim = self.claim_of(spec)
        queue.end(self.stage.store, claim, queue.result(claim, outcome))

    def sweep(self, *, apply: bool = False, demo: Path | None = None) -> Report:
        """Clean up, as the command does."""
        return sweep(self.stage.desk(), apply=apply, demo=demo)[0]


def kinds(items: Iterable[Item]) -> list[tuple[str, str]]:
    """What was listed, by kind and name."""
    return sorted((item.kind, item.path.name) for item in items)


def why(yard: Yard, path: Path) -> str:
    """Why the one thing at a path stays."""
    [found] = [item.why for item in survey(yard.stage.desk()) if item.path == path and not item.may_go]
    return found
