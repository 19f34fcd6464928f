"""How narrow the credential of each forge is, and what the forge itself would let it do.

Must not read a credential, or speak to a forge: a publisher of its own does, and writes a report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config import secrets
from autopilot.daemon.checkup.check import ok, warning
from autopilot.daemon.errand import Errand
from autopilot.daemon.question import answer
from autopilot.daemon.specs import forge_spec
from autopilot.schemas.publication import ForgeCheckSpec, ReachReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.repository import Repo
    from autopilot.config.settings import Settings
    from autopilot.schemas.checkup import Check

_WALL_S = 40.0
_CURE = "narrow the token, and lay a ruleset over the branch: docs/machine.md"


def forges(settings: Settings, paths: Paths, clock: Clock) -> Iterator[Check]:
    """Look at each repository that goes to a forge with a credential that can be read."""
    by_credential: dict[str, list[str]] = {}
    for repo in settings.repos:
        if repo.credential is not None:
            by_credential.setdefault(repo.credential, []).append(repo.name)
            if repo.forge != "local" and secrets.status(repo.credential) == "readable":
                yield _forge(repo, paths, clock)
    for credential, names in by_credential.items():
        if len(names) > 1:
            what = f"one token opens {', '.join(names)}"
            yield warning(
                f"reach of {credential}", what, "give each [[repo]] a token of its own: docs/machine.md"
            )


def _forge(repo: Repo, paths: Paths, clock: Clock) -> Check:
    label, spec = f"forge of {repo.name}", forge_spec(repo, paths)
    told = answer(
        "check",
        lambda report, workdir: ForgeCheckSpec(
            report=report, workdir=workdir, forge=spec, base=repo.base or ""
        ),
        ReachReport,
        key=f"doctor-{repo.name}",
        errand=Errand.to_forge(spec),
        clock=clock,
        wall_s=_WALL_S,
    )
    if isinstance(told, str):
        told = ReachReport(code="no-report", message=told)
    if told.code:
        return warning(label, f"its rules and the token's reach are not known: {told.message}", _CURE)
    if told.weaknesses:
        return warning(label, "\n".join(told.weaknesses), _CURE)
    return ok(label, "the token is narrow, and rules hold the branches it must not push to")
