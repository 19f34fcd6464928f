"""What a gate is given, and where it may write.

Must not hold anything that came from the agent except the checkout itself.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autopilot.config import proc
from autopilot.runner.stacks.stack import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.runner.stacks.stack import Command, Stack
    from autopilot.runner.stacks.tree import Tree
    from autopilot.schemas.events import Event
    from autopilot.schemas.policy import Policy

MAX_LOG_BYTES = 64 * 1024 * 1024

_PROBE_S = 60.0


def ignore(_event: Event, _facts: Mapping[str, object]) -> None:
    """Take an event and do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateContext:
    """One round of gates over one commit.

    `reports` is a folder of ours for this round, outside the tree, emptied first; evidence is named relative
    to `root`. `scratch` is ours too and lives through the rounds: restored environments.
    """

    checkout: Path
    base: Tree
    head: Tree
    policy: Policy
    stack: Stack
    reports: Path
    root: Path
    scratch: Path
    env: Mapping[str, str]
    clock: Clock
    gate_s: float
    grace_s: float
    producer: Literal["run", "publish"] = "run"
    on_event: Callable[[Event, Mapping[str, object]], None] = ignore
    should_stop: Callable[[], str | None] | None = None

    def place(self, gate: str) -> Place:
        """Give a gate its own folder and what the stack adapter needs to know."""
        out = self.reports / gate
        path = self.env.get("PATH", "")
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Place(
            checkout=self.checkout,
            base=self.base,
            head=self.head,
            policy=self.policy,
            out=out,
            scratch=self.scratch,
            path=path,
            which=lambda name: shutil.which(name, path=path),
            succeeds=lambda argv: self._probe(argv, out),
        )

    def run(self, command: Command, out: Path, *, name: str) -> proc.Exit:
        """Run a command in the checkout; what it prints goes to a file in `out`."""
        own = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(out / "pycache")}
        return proc.run(
            command.argv,
            cwd=self.checkout,
            env={**self.env, **own, **command.env},
            output=out / f"{name}.log",
            clock=self.clock,
            wall_s=self.gate_s,
            grace_s=self.grace_s,
            max_output_bytes=MAX_LOG_BYTES,
            should_stop=self.should_stop,
        )

    def _probe(self, argv: Sequence[str], out: Path) -> bool:
        return proc.run(
            argv,
            cwd=out,
            env=self.env,
            output=out / "probe.log",
            clock=self.clock,
            wall_s=_PROBE_S,
            grace_s=self.grace_s,
            should_stop=self.should_stop,
        ).ok
