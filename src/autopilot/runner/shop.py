"""What every phase of a run is given: the order, the tools, and where to write things down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.environ import child_environment
from autopilot.config.git import FOREIGN_MEMORY_BYTES, Git
from autopilot.config.shortage import refused, shortage
from autopilot.runner.chronicle import Chronicle
from autopilot.runner.failure import RunFailure
from autopilot.runner.footprint import Footprint, is_about_disk
from autopilot.runner.outbox import Outbox
from autopilot.runner.sandbox.bounds import RESOURCE_LIMIT
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.runner.tmpdir import forget, short_name
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.runner.notebook import Notebook
    from autopilot.runner.sandbox.confinement import Sandbox
    from autopilot.schemas.events import Event
    from autopilot.schemas.run import RunSpec

TEMPORARY = "tmp"
"""The agent's temporary folder, in the run's own."""
LEASE_LOST = "nobody has renewed its lease"
LEASE_UNWATCHED = "nothing looks any more whether its lease is renewed"


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
    footprint: Footprint
    stop: Callable[[], str | None]
    started_s: float
    tmp: Path
    """The agent's temporary folder by its short name."""

    @classmethod
    def open(cls, notebook: Notebook, clock: Clock, stop: Callable[[], str | None]) -> Shop:
        """Lay out the tools of a run; makes its folders.

        Raises:
            OSError: the run folder cannot be written.
        """
        spec = notebook.spec
        for name in ("git", "home", TEMPORARY, "gates", "check", "restored", "gate-home"):
            (spec.run_dir / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        limits, scratch = spec.limits, spec.run_dir / "git"
        outbox = Outbox(spec.run_dir, spec.run_id, clock)
        footprint = Footprint.of(spec.sandbox, (spec.worktree, spec.run_dir), clock)
        stop = footprint.or_over(stop)
        return cls(
            spec=spec,
            clock=clock,
            notebook=notebook,
            outbox=outbox,
            chronicle=Chronicle(spec, clock, outbox.tell),
            git=Git(
                clock,
                scratch,
                timeout_s=limits.git_s,
                should_stop=stop,
                memory_bytes=FOREIGN_MEMORY_BYTES,
            ),
            network=Git(clock, scratch, timeout_s=limits.git_s, user_config=True, should_stop=stop),
            sandbox=open_sandbox(footprint.bounded(spec.sandbox), clock),
            footprint=footprint,
            stop=stop,
            started_s=clock.monotonic_s(),
            tmp=short_name(spec.run_dir / TEMPORARY),
        )

    def close(self) -> None:
        """Take away what lies outside of the run's folder."""
        forget(self.tmp, self.spec.run_dir / TEMPORARY)

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

    def require_room(self, what: str) -> None:
        """Let an agent's failure count only where it had room to write in.

        Args:
            what: what came to nothing.

        Raises:
            TransientError: `disk-full`. Before that the run's folders are counted: `stop` gives a reason if
                they are what fills it.
        """
        folders = (self.spec.worktree, self.spec.run_dir)
        short = shortage(folders) or refused(self.spec.run_dir)
        if short is not None:
            self.footprint.settled()
            raise short.error(what)

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
    """Give the failure of a run that was asked to end, that nobody looked after, or that grew too large."""
    if is_about_disk(reason):
        what = f"the folders of the run took {reason}, and everything in them was ended"
        hint = "make the ticket smaller, or raise that limit"
        return RunFailure(Outcome.AGENT_FAILED, RESOURCE_LIMIT, what, hint=hint)
    own = {LEASE_LOST: "lease-lost", LEASE_UNWATCHED: "lease-unwatched"}.get(reason)
    what = f"the run ended itself: {reason}" if own else f"the run was asked to end ({reason})"
    return RunFailure(Outcome.STOPPED, own or "stopped", what, hint="it is started again when the daemon may")
