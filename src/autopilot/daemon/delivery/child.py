"""Command line, environment and watch of the publisher that lets one text out.

Must not keep the machine awake for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.children import side_publisher
from autopilot.daemon.errand import Errand
from autopilot.schemas.delivery import ChannelSpec

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.supervisor import Launch
    from autopilot.schemas.delivery import DeliverySpec

_TRACKER_S = 120.0
"""Of a tracker each answer is bounded, and a comment takes a handful."""


def launch(key: str, spec: DeliverySpec, spec_file: Path) -> Launch:
    """Say how it is started and watched."""
    return side_publisher(
        "deliver",
        spec_file,
        key=key,
        errand=_errand(spec),
        log="delivery.log",
        limit_s=limit_s(spec),
        grace_s=spec.kill_grace_s,
    )


def limit_s(spec: DeliverySpec) -> float:
    """Give the seconds that it may take."""
    return spec.to.limit_s if isinstance(spec.to, ChannelSpec) else _TRACKER_S


def _errand(spec: DeliverySpec) -> Errand:
    to = spec.to
    return Errand.to_channel(to) if isinstance(to, ChannelSpec) else Errand.to_tracker(to.tracker)
