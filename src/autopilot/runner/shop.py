"""What every phase of a run is given: the order, the tools, and where to write things down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.environ import child_environment
from autopilot.config.git import Git
from autopilot.runner.chronicle import Chronicle
from autopilot.runner.failure import RunFailure
from autopilot.runner.outbox import Outbox
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.runner.notebook import Notebook
    from autopilot.runner.sandbox.confinement import Sandbox
    from autopilot.schemas.events import Event
    from autopilot.schemas.run import RunSpec

LEASE_LOST = "nobody has renewed its lease"


@dataclass(frozen=True, slots=True)
class Shop:
    """One run's tools. `network` is git with what the user's remotes need; `stop` gives a reason to stop."""

    spec: RunSpec
    clock: Clock
    notebook: Notebook
    outbox: Outbox
    chronicle: Chronicle
    git: Git
    network: Git
    sandbox: Sandbox
    stop: Callable[[], str | None]
    started_s: float

    @classmethod
    def open(cls, notebook: Notebook, clock: Clock, stop: Callable[[], str | None]) -> Shop:
        """Lay out the tools of a run; makes its folders.

        Raises:
            OSError: the run folder cannot be written.
        """
        spec = notebook.spec
        for name in ("git", "home", "tmp", "gates", "check", "restored", "gate-home"):
            (spec.run_dir / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        limits, scratch = spec.limits, spec.run_dir / "git"
        outbox = Outbox(spec.run_dir, spec.run_id, clock)
        return cls(
            spec=spec,
            clock=clock,
            notebook=notebook,
            outbox=outbox,
            chronicle=Chronicle(spec, clock, outbox.tell),
            git=Git(clock, scratch, timeout_s=limits.git_s, should_stop=stop),
            network=Git(clock, scratch, timeout_s=limits.git_s, user_config=True, should_stop=stop),
            sandbox=open_sandbox(spec.sandbox, clock),
            stop=stop,
            started_s=clock.monotonic_s(),
        )

    def tell(self, event: Event, **facts: object) -> None:
        """Append an event."""
        self.outbox.tell(event, facts)

    def gate_environment(self) -> Mapping[str, str]:
        """Give the environment of the repository's own commands: nothing of an agent's, nothing secret."""
        home = self.spec.run_dir / "gate-home"
        return child_environment(None, home=home, passed=self.spec.repo.env_pass)

    def fresh_folder(self, name: str) -> Path:
        """Name a folder below the run's check-outs; it does not exist yet."""
        return self.spec.run_dir / "check" / name

    def left_s(self) -> float:
        """Seconds awake that the run may still take."""
        return self.spec.limits.wall_s - (self.clock.monotonic_s() - self.started_s)

    def go_on(self) -> None:
        """Go on unless somebody asked us to stop.

        Raises:
            RunFailure: stopped.
        """
        if reason := self.stop():
            raise stopped(reason)


def stopped(reason: str) -> RunFailure:
    """Give the failure of a run that was asked to end, or ended because nobody looked after it."""
    is_lost = reason == LEASE_LOST
    code = "lease-lost" if is_lost else "stopped"
    what = f"the run ended itself: {reason}" if is_lost else f"the run was asked to end ({reason})"
    return RunFailure(Outcome.STOPPED, code, what, hint="it is started again when the daemon may")
