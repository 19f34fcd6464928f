"""Gates over small real repositories: commit some files, then run the gates on what the branch holds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autopilot.config.clock import SystemClock
from autopilot.config.environ import child_environment
from autopilot.config.git import Git
from autopilot.runner.gates.context import GateContext
from autopilot.runner.gates.run import run_gates
from autopilot.runner.policy import policy_of
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.runner.stacks.registry import choose
from autopilot.runner.stacks.tree import Tree
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.events import Event
from autopilot.schemas.gate import GateRecord
from tests.support.gitcmd import git
from tests.support.repos import commit_files, init_bare

Files = Mapping[str, str | bytes]

# Where pytest can be imported: the interpreter that runs this suite.
WITH_PYTEST = str(Path(sys.executable).parent)
SYSTEM_PATH = os.defpath
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Those of this suite are no part of the project: they would be two thirds of what its pytest takes."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A bare repository of ours and a checkout of its latest commit."""

    folder: Path
    repository: Path
    base_sha: str
    head_sha: str

    @property
    def checkout(self) -> Path:
        """The working tree at head."""
        return self.folder / "checkout"

    def git(self) -> Git:
        """Our git, with its scratch folder here."""
        return Git(SystemClock(), scratch=self.folder / "scratch-git")

    def context(self, *, path: str = SYSTEM_PATH, **changes: Any) -> GateContext:  # noqa: ANN401  as GateContext
        """What the gates are given; `path` is the PATH of the tests."""
        base = Tree.at(self.git(), self.repository, self.base_sha)
        policy = policy_of(base)
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        context = GateContext(
            checkout=self.checkout,
            base=base,
            head=Tree.at(self.git(), self.repository, self.head_sha),
            policy=policy,
            stack=choose(base, policy),
            sandbox=open_sandbox(SandboxSpec(), SystemClock()),
            reports=self.folder / "run" / "round-1",
            root=self.folder / "run",
            scratch=self.folder / "scratch",
            env=NO_PLUGINS | child_environment({"PATH": path, "HOME": str(home)}, home=home),
            clock=SystemClock(),
            gate_s=60.0,
            grace_s=1.0,
        )
        return replace(context, **changes)


def bench(folder: Path, files: Files, *, base: Files | None = None) -> Bench:
    """Commit `base` (or the same files), then `files`, and check the second commit out."""
    repository = init_bare(folder / "repository.git")
    base_sha = commit_files(repository, "main", base if base is not None else files)
    head_sha = commit_files(repository, "work", files, parentless=True)
    checkout = folder / "checkout"
    checkout.mkdir()
    git(checkout, "init", "-q")
    git(checkout, "fetch", "-q", repository.as_uri(), head_sha)
    git(checkout, "checkout", "-q", "--detach", head_sha)
    return Bench(folder, repository, base_sha, head_sha)


def run_on(
    folder: Path,
    files: Files,
    *,
    base: Files | None = None,
    **changes: Any,  # noqa: ANN401  as Bench.context
) -> dict[str, GateRecord]:
    """Run all gates once and give their entries by name."""
    records = run_gates(bench(folder, files, base=base).context(**changes))
    return {record.gate: record for record in records}


def listener() -> tuple[
    list[tuple[Event, Mapping[str, object]]], Callable[[Event, Mapping[str, object]], None]
]:
    """A list, and what fills it with the events of a run of gates."""
    heard: list[tuple[Event, Mapping[str, object]]] = []
    return heard, lambda event, facts: heard.append((event, facts))
