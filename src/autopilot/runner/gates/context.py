"""What a gate is given, and where it may write.

Must not hold anything that came from the agent except the checkout itself.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from autopilot.runner.sandbox.confinement import Confinement
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.stacks.stack import Place
from autopilot.schemas.events import Event
from autopilot.schemas.network import NetworkSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from autopilot.config.clock import Clock
    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.confinement import Sandbox
    from autopilot.runner.stacks.stack import Command, Stack
    from autopilot.runner.stacks.tree import Tree
    from autopilot.schemas.policy import Policy

MAX_LOG_BYTES = 64 * 1024 * 1024

_PROBE_S = 60.0
# A registry may lie on the machine itself, whose loopback is not that of the cell.
_ALL_BY_PROXY = MappingProxyType({"NO_PROXY": "", "no_proxy": ""})
SETUP_HOME = "home"
"""Below `scratch`: the HOME of the set-up command."""


def ignore(_event: Event, _facts: Mapping[str, object]) -> None:
    """Take an event and do nothing."""


def ignore_blocked(_what: str, _code: str, _count: int) -> None:
    """Take note of nothing that was refused."""


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
    network: NetworkSpec = field(default_factory=NetworkSpec)
    on_event: Callable[[Event, Mapping[str, object]], None] = ignore
    on_blocked: Callable[[str, str, int], None] = ignore_blocked
    should_stop: Callable[[], str | None] | None = None

    def place(self, gate: str) -> Place:
        """Give a gate its own folder and what the stack adapter needs to know."""
        out = self.reports / gate
        path = self.env.get("PATH", "")
        written = _written(out)
        return Place(
            checkout=self.checkout,
            base=self.base,
            head=self.head,
            policy=self.policy,
            out=out,
            written=written,
            scratch=self.scratch,
            path=path,
            which=lambda name: shutil.which(name, path=path),
            succeeds=lambda argv: self._probe(argv, out),
        )

    def run(self, command: Command, out: Path, *, name: str) -> Exit:
        """Run a command in the checkout, locked up; what it prints goes to a file in `out`.

        Raises:
            SandboxError: the sandbox did not come up; it says nothing about the commit.
        """
        return self._run(command, out, name=name, argv=command.argv, room=self._room(self.checkout, out))

    def restore(self, command: Command, out: Path, *, name: str) -> tuple[Exit, tuple[str, ...]]:
        """Run what restores packages: it alone reaches the registries, and writes to `scratch`.

        No test changes what later rounds test with: its HOME is one that no test writes to.

        Returns:
            How it ended, and what it was refused on the way.

        Raises:
            SandboxError: the sandbox did not come up; it says nothing about the commit.
            ConfigError: the host's own proxy cannot be spoken to.
        """
        # Many a commit has nothing to restore: no way out is needed then.
        from autopilot.runner.network.plan import restore_policy  # noqa: PLC0415 - see above
        from autopilot.runner.stacks.registry_hosts import registry_places  # noqa: PLC0415 - as above
        from autopilot.runner.way_out import way_out  # noqa: PLC0415 - as above

        home = self.scratch / SETUP_HOME
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        room = replace(
            self._room(self.checkout, out), home=home, writable=(self.checkout, _written(out), self.scratch)
        )
        places = registry_places(self.base) if self.network.registry_from_lock else ()
        policy = restore_policy(self.network, (place.target for place in places))
        named = {str(place.target): place.file for place in places}
        self.on_event(Event.SETUP_STARTED, {"hosts": list(self.network.registry_hosts), "named": named})
        with way_out(self.sandbox, self.root / "outlet.sock", policy, self.on_event) as way:
            ended = self._run(
                command,
                out,
                name=name,
                argv=way.argv(command.argv),
                room=way.opened(room),
                more={**way.environment(), **_ALL_BY_PROXY, "HOME": str(home)},
            )
        refused = tuple(way.counts())
        for what, code, count in refused:
            self.on_blocked(what, code, count)
        return ended, tuple(f"{what} ({code})" for what, code, _ in refused if what)

    def _run(
        self,
        command: Command,
        out: Path,
        *,
        name: str,
        argv: Sequence[str],
        room: Confinement,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> Exit:
        own = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(_written(out) / "pycache")}
        return run_inside(
            self.sandbox,
            room,
            argv,
            env={**self.env, **own, **command.env, **more},
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
            self._room(_written(out), out),
            argv,
            env=self.env,
            output=out / "probe.log",
            clock=self.clock,
            wall_s=_PROBE_S,
            grace_s=self.grace_s,
            should_stop=self.should_stop,
        ).ok

    def _room(self, cwd: Path, out: Path) -> Confinement:
        """Lay out what a command may touch: the checkout and folders of ours that only it writes to.

        `out` is read only: what we put there afterwards could else go through a link of the command's.
        """
        home = Path(self.env["HOME"])
        writable = (self.checkout, _written(out), home)
        return Confinement(cwd=cwd, home=home, readable=(self.scratch, out), writable=writable)


def _written(out: Path) -> Path:
    """Give the folder in a gate's own that its commands write to."""
    folder = out / "written"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
