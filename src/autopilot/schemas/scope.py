"""What a commit changes, path by path: a run says it, a request to publish repeats it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from autopilot.schemas.records import Record


class ScopeLine(Record):
    """One changed path and why it changed."""

    path: str
    change: Literal["added", "modified", "deleted", "renamed", "type-changed"]
    added_lines: int | None = Field(default=None, description="None for a binary file")
    removed_lines: int | None = None
    reason: str = ""
