"""Settings of what an agent is locked up in: one table of the configuration each.

Must not hold a default (they stand in `defaults.toml`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from autopilot.config.values import Folder
from autopilot.schemas.cell import SandboxKind
from autopilot.schemas.records import Input


class Sandbox(Input):
    """What agents and the repository's own commands are locked up in."""

    kind: SandboxKind = Field(
        description="auto = the strongest that this machine has, and never none; see docs/security.md"
    )
    readable: tuple[Folder, ...] = Field(
        description="files and folders that may be read beside the system and the programs on PATH"
    )
    memory_mib: Annotated[int, Field(ge=0, le=100_000_000)] = Field(
        description="MiB that an agent, or a command, may use with all it starts; 0 = 3/4 of the machine's"
    )
    max_processes: Annotated[int, Field(ge=10, le=1_000_000)] = Field(
        description="processes that an agent, or a command, may have at the same time"
    )
    nested: bool = Field(
        description="programs inside may make sandboxes of their own, as browsers do: more kernel in reach"
    )
