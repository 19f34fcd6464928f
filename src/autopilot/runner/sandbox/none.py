"""No sandbox at all. Must be chosen by nobody but the operator; the check-up and every draft show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.runner.sandbox.bounds import UNBOUNDED, Bounds
from autopilot.runner.sandbox.confinement import Wrapped
from autopilot.runner.sandbox.starter import read_starter, started_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.cells import Cell, Cells
    from autopilot.runner.sandbox.confinement import Confinement
    from autopilot.schemas.cell import OpenedKind


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """Starts the program as it is; see `Sandbox`."""

    bounds: Bounds = UNBOUNDED
    cells: Cells | None = None
    kind: OpenedKind = "none"

    def check(self) -> None:
        """Nothing can be missing."""

    def wrap(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        confinement: Confinement,  # noqa: ARG002 - Sandbox's signature
        *,
        status: int,
        cell: Cell | None = None,
    ) -> Wrapped:
        """Change nothing, but for who joins its control group first."""
        if cell is None:
            return Wrapped(tuple(argv), env)
        return Wrapped(started_by("joined_start.py", str(cell.group.path), str(status), argv=argv), env)

    def read(self, ended: Exit, told: bytes) -> Exit:
        """Take its end as it is.

        Raises:
            SandboxError: it could not join its control group.
        """
        return read_starter(ended, told, name="it") if told else ended
