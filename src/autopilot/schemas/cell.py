"""What a run is locked up in, as the operator configured it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from autopilot.schemas.records import Record

SandboxKind = Literal["auto", "bubblewrap", "landlock", "seatbelt", "none"]


class SandboxSpec(Record):
    """The sandbox of an agent and of every command of a repository."""

    kind: SandboxKind = Field(default="auto", description="auto never means none")
    readable: tuple[Path, ...] = Field(default=(), description="what may be read beside the toolchains")
    sealed: tuple[Path, ...] = Field(
        default=(), description="ours: never shown, whatever lies around or below it"
    )
    memory_mib: int = Field(default=0, ge=0, description="of all processes of a command; 0 = by the machine")
    max_processes: int = Field(default=1000, ge=1, description="at the same time, of one command")
    nested: bool = Field(default=False, description="whether programs inside may make sandboxes of their own")
