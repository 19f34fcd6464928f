"""What a support report says of itself: its files, what was left out, and what was masked. Pure data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from autopilot.schemas.records import EpochMs, Record, Sha256


class ReportFile(Record):
    """One file of the report."""

    name: str = Field(min_length=1)
    size_bytes: int = Field(ge=0)
    sha256: Sha256
    about: str = Field(description="what it holds")


class ReportGap(Record):
    """Something that is not in the report."""

    what: str = Field(min_length=1)
    why: str


class ReportManifest(Record):
    """MANIFEST.json, the first file of a report; it does not list itself."""

    report_version: Literal[1] = 1
    made_ms: EpochMs
    program: str = Field(description="version of autopilot that made it")
    with_texts: bool = Field(description="what log and journals say in words is kept, on a person's word")
    files: tuple[ReportFile, ...]
    left_out: tuple[ReportGap, ...]
    masked: dict[str, int] = Field(description="how many of which kind were masked")
    advice: str = Field(description="what to do before it is sent")
