"""What a program may touch, and what a sandbox is.

Must not know how any system enforces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from autopilot.schemas.errors import ConfigError, TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.bounds import Bounds
    from autopilot.runner.sandbox.cells import Cell, Cells
    from autopilot.schemas.cell import OpenedKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """All that one program may touch beside the system and the programs on its PATH.

    Each list is laid over the one before it: `protected` can be read only, though it lies in something
    `writable`, and that may lie in something `readable`. What is not there counts for nothing. `outlet` and
    `guard_socket` are unix sockets of ours, `ports` those of the machine's loopback that a sandbox without
    its own leaves open; `shares_network` leaves it the machine's own network.
    """

    cwd: Path
    home: Path
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    programs: tuple[str, ...] = ()
    outlet: Path | None = None
    guard_socket: Path | None = None
    ports: tuple[int, ...] = ()
    shares_network: bool = False

    @property
    def own(self) -> tuple[Path, ...]:
        """The folders in which something may have been put by what runs in here, now or before."""
        return (self.cwd, self.home, *self.readable, *self.writable)


OWN_LOOPBACK = frozenset({"bubblewrap"})
"""The kinds in which every command has a loopback of its own."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """What is started instead of the program."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    passed: tuple[int, ...] = ()
    """Descriptors that it inherits; closed when it has ended."""
    kept: tuple[int, ...] = ()
    """Our own ends of them; closed as well."""
    on_start: Callable[[int], None] | None = None
    """What has to be done once it runs; given its number."""


class Sandbox(Protocol):
    """One way to lock a program up."""

    @property
    def kind(self) -> OpenedKind:
        """What the configuration calls it."""
        ...

    @property
    def bounds(self) -> Bounds:
        """How much what is inside may use."""
        ...

    @property
    def cells(self) -> Cells | None:
        """Where a control group for each call is made; None where there can be none."""
        ...

    def check(self) -> None:
        """Make sure that it works on this machine, before anybody is paid.

        Raises:
            SandboxMissing: it does not.
        """
        ...

    def wrap(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        confinement: Confinement,
        *,
        status: int,
        cell: Cell | None = None,
    ) -> Wrapped:
        """Say how the program is started inside.

        Args:
            argv: the program and its arguments.
            env: its whole environment.
            confinement: what it may touch.
            status: a descriptor on which the sandbox, and nobody inside it, may tell how it went.
            cell: the control group that the program is to be in before its first instruction.

        Raises:
            SandboxError: it cannot be locked up in this way.
        """
        ...

    def read(self, ended: Exit, told: bytes) -> Exit:
        """Say how the program ended, from how the sandbox did and what it told.

        Raises:
            SandboxError: the program was never started, and that was not its own fault.
        """
        ...


class SandboxError(TransientError):
    """A sandbox did not come up; the program in it was never started."""


class SandboxMissing(ConfigError):
    """This machine has no sandbox of the wanted kind: nothing is started without one."""
