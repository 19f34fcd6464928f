"""Every program that a run may start, and the policy that judges its arguments.

A program that is not here is refused.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.guard.policy import (
    awk,
    builds,
    databases,
    editing,
    files,
    git,
    infra,
    network,
    node,
    platforms,
    python,
    runners,
    scripts,
    search,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.guard.policy.forms import Policy

OWN_PROGRAM = "./"
"""What stands for any program file of the repository."""
POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        **text.PROGRAMS,
        **search.PROGRAMS,
        **editing.PROGRAMS,
        **awk.PROGRAMS,
        **files.PROGRAMS,
        **git.PROGRAMS,
        **python.PROGRAMS,
        **node.PROGRAMS,
        **builds.PROGRAMS,
        **scripts.PROGRAMS,
        **network.PROGRAMS,
        **platforms.PROGRAMS,
        **infra.PROGRAMS,
        **databases.PROGRAMS,
        **runners.PROGRAMS,
        OWN_PROGRAM: scripts.run_repository_program,
    }
)
