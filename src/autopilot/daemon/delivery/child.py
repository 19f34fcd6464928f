"""Command line, environment and watch of the publisher that lets one text out.

Must not keep the machine awake for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.paths import PUBLISH_EVENTS_FILE
from autopilot.daemon.children import (
    BACKSTOP_MARGIN_S,
    publisher_environment,
    publisher_question,
    side_order,
)
from autopilot.daemon.supervisor import Launch
from autopilot.schemas.delivery import ChannelSpec

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.schemas.delivery import DeliverySpec

_TRACKER_S = 120.0
"""Of a tracker each answer is bounded, and a comment takes a handful."""


def launch(key: str, spec: DeliverySpec, spec_file: Path) -> Launch:
    """Say how it is started and watched."""
    return Launch(
        argv=publisher_question("deliver", spec_file),
        cwd=spec_file.parent,
        env=publisher_environment(key),
        output=spec_file.parent / "delivery.log",
        order=side_order(
            key,
            journal=spec_file.parent / PUBLISH_EVENTS_FILE,
            wall_s=limit_s(spec) + spec.kill_grace_s + BACKSTOP_MARGIN_S,
            grace_s=spec.kill_grace_s,
        ),
    )


def limit_s(spec: DeliverySpec) -> float:
    """Give the seconds that it may take."""
    return spec.to.limit_s if isinstance(spec.to, ChannelSpec) else _TRACKER_S
