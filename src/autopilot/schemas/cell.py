"""What a run is locked up in: as the operator configured it, and as it then was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import Field

from autopilot.schemas.records import Record

SandboxKind = Literal["auto", "bubblewrap", "landlock", "seatbelt", "none"]
OpenedKind = Literal["bubblewrap", "landlock", "seatbelt", "none", "missing"]
"""What was opened on this machine: a kind that holds, none at all, or what refuses everything."""
_WEAKNESSES: Mapping[OpenedKind, str] = MappingProxyType(
    {
        "none": "what ran could reach whatever the operator can",
        "landlock": (
            "it is weaker than bubblewrap: what ran could change rights and times of the operator's own files"
            " and see which other processes there are, and other users of the machine could reach its way out"
            " (docs/security.md)"
        ),
        "seatbelt": "it was never tried on a Mac: only its profile was compared (docs/security.md)",
    }
)


class SandboxSpec(Record):
    """The sandbox of an agent and of every command of a repository."""

    kind: SandboxKind = Field(default="auto", description="auto never means none")
    readable: tuple[Path, ...] = Field(default=(), description="what may be read beside the toolchains")
    sealed: tuple[Path, ...] = Field(
        default=(), description="ours: never shown, whatever lies around or below it"
    )
    memory_mib: int = Field(default=0, ge=0, description="of all processes of a command; 0 = by the machine")
    max_processes: int = Field(default=1000, ge=1, description="at the same time, of one command")
    cpu_percent: int = Field(default=0, ge=0, description="of one processor; 0 = no bound")
    disk_mib: int = Field(default=0, ge=0, description="of the run's folders; 0 = half of what is free")
    nested: bool = Field(default=False, description="whether programs inside may make sandboxes of their own")


def weakness(kind: OpenedKind | None) -> str:
    """Say what a sandbox of this kind left open; empty where there is nothing to warn of.

    Args:
        kind: what was opened; None: nobody wrote it down.
    """
    if kind is None:
        return "nobody wrote down which it was; it may have been none"
    return _WEAKNESSES.get(kind, "")
