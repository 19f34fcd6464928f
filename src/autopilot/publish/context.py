"""What every check of one publication is given.

Values only. The request is in here as the run's *claim*: its text is shown after cleaning, and nothing in it
decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.git import Git
    from autopilot.publish.progress import Progress
    from autopilot.schemas.cell import OpenedKind
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.publication import PublishRequest, PublishSpec

BASE_REF = "refs/publish/base"
HEAD_REF = "refs/publish/head"
NOW_REF = "refs/publish/now"


@dataclass(frozen=True, slots=True)
class Context:
    """One publication under way. `folder` is this try's own and private."""

    spec: PublishSpec
    request: PublishRequest | None
    request_fault: str
    git: Git
    clock: Clock
    progress: Progress
    folder: Path

    @property
    def staging(self) -> Path:
        """The bare repository that we push from."""
        return self.folder / "staging.git"

    @property
    def roots(self) -> tuple[str, ...]:
        """Folders of this machine whose paths must not leave it."""
        spec = self.spec
        places = (
            self.folder,
            spec.workdir,
            spec.source,
            spec.mirror,
            spec.mirror.parent.parent,
            spec.request.parent,
            spec.verdict.parent,
        )
        return tuple(dict.fromkeys(str(place) for place in places))


@dataclass(frozen=True, slots=True)
class Findings:
    """What one check found. Any reason fails it; notes do not."""

    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    gates: tuple[GateRecord, ...] = ()
    sandbox: OpenedKind | None = None
    """What the gates were run again in."""

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against publishing."""
        return not self.reasons
