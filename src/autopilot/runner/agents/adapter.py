"""What the runner asks of an adapter, and what an adapter says at the end.

Must not start a process: an adapter says how its agent is started and understands what comes out. One adapter
object serves one process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from autopilot.schemas.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autopilot.runner.agents.events import AgentEvent
    from autopilot.runner.network.broker import Broker
    from autopilot.schemas.run import AgentSpec, Outcome, PaidPhase


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One round of work: the prompt's file and what the agent may do.

    `private` is a folder of the run in which the agent's own configuration is made; `guard` is the command
    that a hook hands each tool call to, and says no by exit 2. Empty: there is no guard. `is_confined` tells
    that a sandbox of ours stands around the agent: without it there is no shell where nothing but the guard
    would bound it, for the guard is no wall. `broker`: where its service is asked without a key.
    """

    agent: AgentSpec
    prompt: Path
    private: Path
    worktree: Path
    round_no: int
    guard: tuple[str, ...] = ()
    is_confined: bool = False
    broker: Broker | None = None
    phase: PaidPhase = "dev"
    attempt: int = 1
    answers: tuple[str, ...] = ()
    left_micro_usd: int | None = None
    allowed_commands: tuple[tuple[str, ...], ...] = ()
    allowed_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start the agent. `passes` names variables of ours that it alone may see.

    `files` are written before the start, and are the agent's to read, as is what is there already and named
    in `readable`; what it may write beside its worktree is in `writable`. It is started in `cwd`, a folder
    that is there by then; None: in its worktree.
    """

    argv: tuple[str, ...]
    passes: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    files: Mapping[Path, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    cwd: Path | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How the agent's process ended by itself: exit code or signal, and the readable end of its stderr."""

    code: int | None
    signal: int | None
    tail: str

    @property
    def is_clean(self) -> bool:
        """Tell whether the process said that all went well."""
        return self.code == 0

    @property
    def is_not_found(self) -> bool:
        """Tell whether a launcher could not find or start the real program. Source: POSIX sh, 2.8.2."""
        return self.code in {126, 127}

    def __str__(self) -> str:
        """Name the exit code or the signal."""
        return f"signal {self.signal}" if self.signal else f"exit {self.code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """What came of one round. `outcome` is None when the agent came to its end: the gates decide then."""

    outcome: Outcome | None
    code: str
    message: str
    hint: str = ""
    usage: Usage = field(default_factory=Usage)
    questions: tuple[str, ...] = ()
    denials: tuple[str, ...] = ()
    resets_ms: int | None = None
    final_text: str = ""
    warnings: tuple[str, ...] = ()


class Agent(Protocol):
    """One coding agent's process, from its command line to its report."""

    def check(self, spec: AgentSpec) -> None:
        """Make sure, before anything is done for the ticket, that it is configured.

        Raises:
            ConfigError: the operator's configuration of this agent cannot work.
        """
        ...

    def launch(self, order: Order) -> Launch:
        """Say how to start it.

        Raises:
            ConfigError: the operator's configuration of this agent cannot work.
        """
        ...

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of its standard output."""
        ...

    def finish(self, ending: Ending) -> AgentReport:
        """Judge how it ended; `ending` is of a process that we did not stop."""
        ...

    def usage(self) -> Usage:
        """Give its counters as they stand, for a process that we stopped."""
        ...
