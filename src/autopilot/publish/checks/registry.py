"""The checks in their order. Each says which others must have passed for it to make sense.

A check that is not run for want of another still gets its line, and that line fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.publish import staging
from autopilot.publish.checks import (
    ancestry,
    branch,
    content,
    ledger,
    outbound,
    packages,
    repository,
    reverify,
    secrets,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.publish.context import Context, Findings


@dataclass(frozen=True, slots=True)
class Check:
    """One check and what it builds on."""

    name: str
    run: Callable[[Context], Findings]
    needs: frozenset[str] = frozenset()


_STAGED = frozenset({"staging"})
_DESCENDS = frozenset({"staging", "ancestry"})
CHECKS = (
    Check("repository", repository.check),
    Check("branch", branch.check),
    Check("staging", staging.check),
    Check("ancestry", ancestry.check, _STAGED),
    Check("content", content.check, _STAGED),
    Check("packages", packages.check, _STAGED),
    Check("secrets", secrets.check, _STAGED),
    Check("ledger", ledger.check),
    Check("reverify", reverify.check, _DESCENDS | {"content"}),
    Check("outbound", outbound.check, _STAGED),
)
