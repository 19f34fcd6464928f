"""Stands where a sandbox should be and is not: it starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from autopilot.runner.sandbox.bounds import UNBOUNDED, Bounds
from autopilot.runner.sandbox.confinement import SandboxMissing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.cells import Cell, Cells
    from autopilot.runner.sandbox.confinement import Confinement, Wrapped
    from autopilot.schemas.cell import OpenedKind


@dataclass(frozen=True, slots=True)
class Missing:
    """Refuses whatever it is asked to start; see `Sandbox`."""

    why: str
    cure: str
    bounds: Bounds = UNBOUNDED
    cells: Cells | None = None
    kind: OpenedKind = "missing"

    def check(self) -> None:
        """Refuse.

        Raises:
            SandboxMissing: always.
        """
        self._refuse()

    def wrap(
        self,
        argv: Sequence[str],  # noqa: ARG002 - Sandbox's signature
        env: Mapping[str, str],  # noqa: ARG002 - as above
        confinement: Confinement,  # noqa: ARG002 - as above
        *,
        status: int,  # noqa: ARG002 - as above
        cell: Cell | None = None,  # noqa: ARG002 - as above
    ) -> Wrapped:
        """Refuse.

        Raises:
            SandboxMissing: always.
        """
        self._refuse()

    def read(self, ended: Exit, told: bytes) -> Exit:  # noqa: ARG002 - as above
        """Refuse: nothing can have been started.

        Raises:
            SandboxMissing: always.
        """
        self._refuse()

    def _refuse(self) -> NoReturn:
        what = f"there is no sandbox to work in: {self.why}"
        raise SandboxMissing("sandbox-missing", what, hint=self.cure)
