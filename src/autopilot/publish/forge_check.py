"""Looks at how narrow the credential of a forge is, and how its rules hold the branches that are not ours.

Must not change anything there, nor keep a word of the token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.git import Git
from autopilot.publish import credential
from autopilot.publish.forges import registry
from autopilot.publish.heads import Heads
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.publication import ReachReport

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.schemas.publication import ForgeCheckSpec


def look(spec: ForgeCheckSpec, *, clock: Clock, folder: Path) -> ReachReport:
    """Ask the forge; an error on purpose becomes a report without an answer."""
    git = Git(clock, scratch=folder / "git", timeout_s=spec.answer_s)
    try:
        with credential.access(spec.forge.credential, folder, then="ask again: autopilot doctor") as access:
            heads = Heads(git, folder / "heads.git", spec.forge.push_url, access=access, mirror=None)
            with registry.open_forge(
                spec.forge, access, clock=clock, shown=heads, timeout_s=spec.answer_s
            ) as forge:
                return ReachReport(weaknesses=forge.weaknesses(spec.base))
    except AutopilotError as exc:
        return ReachReport(code=exc.code, message=exc.what)
