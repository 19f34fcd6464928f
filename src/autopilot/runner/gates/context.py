"""What a gate is given, and where it may write.

Must not hold anything that came from the agent except the checkout itself.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autopilot.runner.sandbox.confinement import Confinement
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.stacks.stack import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from autopilot.config.clock import Clock
    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.confinement import Sandbox
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
    sandbox: Sandbox
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

    def run(self, command: Command, out: Path, *, name: str, restores: bool = False) -> Exit:
        """Run a command in the checkout, locked up; what it prints goes to a file in `out`.

        Only what restores packages may write to `scratch`: no test changes what later rounds test with.

        Raises:
            SandboxError: the sandbox did not come up; it says nothing about the commit.
        """
        own = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(out / "pycache")}
        if restores:
            self.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        return run_inside(
            self.sandbox,
            self._room(self.checkout, out, restores=restores),
            command.argv,
            env={**self.env, **own, **command.env},
            output=out / f"{name}.log",
            clock=self.clock,
            wall_s=self.gate_s,
            grace_s=self.grace_s,
            max_output_bytes=MAX_LOG_BYTES,
            should_stop=self.should_stop,
        )

    def _probe(self, argv: Sequence[str], out: Path) -> bool:
        return run_inside(
            self.sandbox,
            self._room(out, out),
            argv,
            env=self.env,
            output=out / "probe.log",
            clock=self.clock,
            wall_s=_PROBE_S,
            grace_s=self.grace_s,
            should_stop=self.should_stop,
        ).ok

    def _room(self, cwd: Path, out: Path, *, restores: bool = False) -> Confinement:
        """Lay out what a command may touch: the checkout and folders of ours that only it writes to."""
        home = Path(self.env["HOME"])
        return Confinement(
            cwd=cwd,
            home=home,
            readable=(self.scratch,),
            writable=(self.checkout, out, home, *((self.scratch,) if restores else ())),
            shares_network=restores,
        )
