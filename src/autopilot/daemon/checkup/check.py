"""Builds the lines of the check-up. Area and scope are those of the probe that was asked. Pure."""

from __future__ import annotations

from autopilot.schemas.checkup import Check, CheckVerdict


def ok(name: str, evidence: str) -> Check:
    """Build the line of something that is in order."""
    return Check(name=name, verdict=CheckVerdict.GO, evidence=evidence)


def warning(name: str, evidence: str, cure: str) -> Check:
    """Build the line of something to know, with which the night can begin."""
    return Check(name=name, verdict=CheckVerdict.WARNING, evidence=evidence, cure=cure)


def blocked(name: str, evidence: str, cure: str) -> Check:
    """Build the line of something that must be mended first."""
    return Check(name=name, verdict=CheckVerdict.NO_GO, evidence=evidence, cure=cure)
