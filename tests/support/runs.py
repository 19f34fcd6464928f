"""Specifications of runs, and a runner's places, as the daemon would make them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from autopilot.config.journal import read_lines
from autopilot.runner import pipeline
from autopilot.runner.mirror import fetch_base
from autopilot.runner.notebook import Notebook
from autopilot.runner.outbox import Outbox
from autopilot.runner.remote import Base, choose_base, look_at
from autopilot.runner.worktree import Workspace, cut
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.run import AgentSpec, Identity, Limits, RepoSpec, RunResult, RunSpec
from tests.support.clock import NIGHT_START_MS
from tests.support.projects import Project
from tests.support.repos import Repo

OPEN = SandboxSpec(kind="none")
"""For an agent that must reach what no sandbox shows: it signals a test, or does what one prevents."""
IDENTITY = Identity(name="Night Shift", email="night@example.com", username="night")


@dataclass(frozen=True, slots=True)
class Host:
    """A state folder and the git that runs in it."""

    state: Path

    @property
    def git(self) -> Git:
        """Our hardened git."""
        return Git(SystemClock(), self.state / "scratch", timeout_s=60)

    @property
    def network(self) -> Git:
        """The git that talks to the remote."""
        return Git(SystemClock(), self.state / "scratch", timeout_s=60, user_config=True)

    def fetch(self, spec: RunSpec) -> tuple[Base, str]:
        """Choose the base and bring it into the mirror."""
        remote = look_at(self.network, spec.repo.url)
        base = choose_base(spec.repo, remote)
        sha = fetch_base(
            self.git, self.network, spec.repo, base=base, remote=remote, on_lock_removed=lambda _: None
        )
        return base, sha

    def cut(self, spec: RunSpec) -> Workspace:
        """Make the run's worktree."""
        base, sha = self.fetch(spec)
        return cut(self.git, spec, base=base.name, base_sha=sha)

    def agent(self, *rounds: Sequence[dict[str, object]], name: str = "scripted") -> AgentSpec:
        """A scripted agent that plays these rounds."""
        self.state.mkdir(parents=True, exist_ok=True)
        script = self.state / f"{name}.yaml"
        script.write_text(yaml.safe_dump({"rounds": [list(steps) for steps in rounds]}, allow_unicode=True))
        return AgentSpec(name=name, kind="scripted", script=script)

    def spec(
        self,
        repo: Repo,
        agent: AgentSpec | None = None,
        *,
        attempt: int = 1,
        **changes: Any,  # noqa: ANN401
    ) -> RunSpec:
        """One attempt at ticket T-1 on this repository; `changes` replace whole fields."""
        run_id = f"T-1-a{attempt}-{attempt:08x}"
        run_dir = self.state / "runs" / run_id
        run_dir.mkdir(parents=True, exist_ok=True)
        fields: dict[str, Any] = {
            "run_id": run_id,
            "ticket_id": "T-1",
            "task_id": "T-1",
            "short_id": 1,
            "attempt": attempt,
            "fence": attempt,
            "title": "No cent may be lost",
            "body": "The shares must add up to the total.",
            "repo": RepoSpec(
                name="bill",
                url=repo.url,
                mirror=self.state / "mirrors" / "bill.git",
                base=repo.base,
                base_source="input",
            ),
            "branch": "autopilot/t-1-no-cent-may-be-lost",
            "worktree": self.state / "worktrees" / "T-1",
            "run_dir": run_dir,
            "pr_request": self.state / "pr-requests" / f"{run_id}.json",
            "salvage_dir": self.state / "salvage" / "T-1",
            "agent": agent or self.agent([{"say": "hello"}]),
            "identity": IDENTITY,
            "limits": Limits(
                run_ceiling_micro_usd=5_000_000, wall_s=120, silence_s=60, gate_s=60, git_s=60, kill_grace_s=1
            ),
            "created_ms": NIGHT_START_MS,
        }
        return RunSpec(**{**fields, **changes})


def run_here(spec: RunSpec, stop: Callable[[], str | None] = lambda: None) -> RunResult:
    """Carry the run out in this process; quicker than a process of its own, and as the edge would."""
    clock = SystemClock()
    result = pipeline.run(Notebook(spec, started_ms=clock.now_ms()), clock, stop)
    Outbox(spec.run_dir, spec.run_id, clock).write_result(result)
    return result


def events_of(spec: RunSpec, *names: str) -> list[Mapping[str, Any]]:
    """The run's events, or those of these names."""
    entries = read_lines(spec.run_dir / "events.jsonl").entries
    return [entry for entry in entries if not names or entry["event"] in names]


def mending_steps(project: Project) -> list[dict[str, object]]:
    """What a good agent does: mend the file, tell the cost, sum up."""
    edit = {"path": project.broken_path, "old": project.broken_text, "new": project.fixed_text}
    return [{"replace": edit}, {"spend": {"usd": 0.02, "input_tokens": 900}}, {"say": "Shares add up now."}]


def read_json(path: Path) -> Any:  # noqa: ANN401
    """A JSON file's content."""
    return json.loads(path.read_text(encoding="utf-8"))
