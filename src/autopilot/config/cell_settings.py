"""Settings of what an agent is locked up in: one table of the configuration each.

Must not hold a default (they stand in `defaults.toml`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from autopilot.config.values import Folder
from autopilot.schemas.cell import SandboxKind
from autopilot.schemas.guard import GuardSpec
from autopilot.schemas.never import program_fault, tool_fault
from autopilot.schemas.records import Input


def _tool(name: str) -> str:
    if fault := tool_fault(name):
        msg = f"{name!r} {fault}; write whole names such as mcp__docs__search, without wildcards"
        raise ValueError(msg)
    return name


def _program(name: str) -> str:
    if fault := program_fault(name):
        msg = f"{name!r} {fault}; write names such as tokei, without a folder or options"
        raise ValueError(msg)
    return name


class Guard(Input):
    """What the command guard accepts beside its own tables. What it refuses for good stays refused."""

    max_read_kib: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        description="KiB of a file that an agent's tool may read at once, without naming a part; 0 = any"
    )
    allow_tools: tuple[Annotated[str, AfterValidator(_tool)], ...] = Field(
        description="tools of MCP servers, by their whole names: mcp__docs__search; each is a risk"
    )
    read_only_programs: tuple[Annotated[str, AfterValidator(_program)], ...] = Field(
        description="programs that only read: called with paths and flags; one with a row of its own keeps it"
    )

    def spec(self) -> GuardSpec:
        """Give it as a run is told of it."""
        return GuardSpec(**self.model_dump())


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
    cpu_percent: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        description="percent of one processor for an agent, or a command; 0 = no bound; needs cgroup v2"
    )
    disk_mib: Annotated[int, Field(ge=0, le=1_000_000_000)] = Field(
        description="MiB of disk that a run's folders may take; 0 = half of what is free when it begins"
    )
    nested: bool = Field(
        description="programs inside may make sandboxes of their own, as browsers do: more kernel in reach"
    )
