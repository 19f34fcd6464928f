"""A worktree as it is when the agent starts, and the judge beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autopilot.runner.changes import scope_of
from autopilot.runner.commit import commit_tree
from autopilot.runner.judge import Judge, Pristine, Snapshot
from autopilot.runner.sparse import absent_by_sparse_checkout
from autopilot.runner.worktree import Workspace
from tests.support.agents import Agent
from tests.support.clock import NIGHT_START_MS
from tests.support.programs import start
from tests.support.repos import Repo
from tests.support.runs import IDENTITY, Host

ODD_NAMES = (
    "ä.txt",
    'a"b.txt',
    "tab\tname",
    "new\nline.txt",
    "x -> y.txt",
    " lead",
    "trail ",
    "-rf",
    "*?[x]",
    "世界",
)


@dataclass(frozen=True, slots=True)
class Desk:
    """A worktree as it is when the agent starts, and the judge beside it."""

    host: Host
    repo: Repo
    workspace: Workspace
    judge: Judge
    pristine: Pristine

    @property
    def tree(self) -> Path:
        return self.workspace.worktree

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def play(self, agent: Agent) -> None:
        start(
            (str(agent.path),),
            self.host.state,
            cwd=self.tree,
            env={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        )

    def snapshot(self) -> Snapshot:
        self.judge.renew()
        return self.judge.snapshot(self.pristine, absent=absent_by_sparse_checkout(self.judge))

    def commit(self, message: str = "Mend it\n\nRef: T-1\n") -> str:
        taken = self.snapshot()
        assert taken.problems == ()
        return commit_tree(
            self.judge,
            tree=taken.tree,
            branch="autopilot/t-1-x",
            message=message,
            identity=IDENTITY,
            now_ms=NIGHT_START_MS,
        )

    def changed(self) -> dict[str, str]:
        scope = scope_of(self.host.git, self.judge.place, base=self.repo.base_sha, head=self.commit())
        return {line.path: line.change for line in scope}


def make_desk(tmp_path: Path, repo: Repo) -> Desk:
    """Cut a worktree and let the judge look at it."""
    host = Host(tmp_path / "state")
    spec = host.spec(repo)
    workspace = host.cut(spec)
    judge = Judge(host.git, spec.run_dir / "judge.git", spec.repo.mirror, workspace, {})
    return Desk(host, repo, workspace, judge, judge.prepare())
