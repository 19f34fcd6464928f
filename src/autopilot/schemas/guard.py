"""What an operator lets the command guard of a run accept beside its own tables."""

from __future__ import annotations

from pydantic import Field

from autopilot.schemas.records import Record


class GuardSpec(Record):
    """What is accepted beside the guard's own tables."""

    max_read_kib: int = Field(
        default=0, ge=0, description="KiB of a file that may be read at once, without naming a part; 0 = any"
    )
    allow_tools: tuple[str, ...] = Field(default=(), description="tools of MCP servers, by their whole names")
    read_only_programs: tuple[str, ...] = Field(
        default=(), description="programs that read what they are given and print"
    )
