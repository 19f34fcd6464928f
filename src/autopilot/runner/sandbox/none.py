"""No sandbox at all. Must be chosen by nobody but the operator; the check-up and every draft show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.runner.sandbox.bounds import UNBOUNDED, Bounds
from autopilot.runner.sandbox.confinement import Wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.confinement import Confinement


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """Starts the program as it is; see `Sandbox`."""

    bounds: Bounds = UNBOUNDED
    kind: str = "none"

    def check(self) -> None:
        """Nothing can be missing."""

    def wrap(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        confinement: Confinement,  # noqa: ARG002 - Sandbox's signature
        *,
        status: int,  # noqa: ARG002 - as above
    ) -> Wrapped:
        """Change nothing."""
        return Wrapped(tuple(argv), env)

    def read(self, ended: Exit, told: bytes) -> Exit:  # noqa: ARG002 - Sandbox's signature
        """Take its end as it is."""
        return ended
