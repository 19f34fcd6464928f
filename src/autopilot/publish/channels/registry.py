"""The channels, one line each: what is found out before anything is sent, and the sending itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, assert_never

from autopilot.schemas.delivery import ChannelSpec, IssueTarget

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.publish.channels.sent import Sent
    from autopilot.schemas.delivery import DeliverySpec


def prepared(spec: DeliverySpec, text: str, *, clock: Clock, folder: Path) -> Callable[[], Sent] | Sent:
    """Give what sends the text, or why it cannot be sent."""
    match spec.to:
        case IssueTarget():
            from autopilot.publish.channels import issue  # noqa: PLC0415 - httpx only where needed

            act = partial(issue.send, spec.to, text, clock=clock, folder=folder)
            return issue.unreachable(spec.to) or act
        case ChannelSpec(kind="command"):
            from autopilot.publish.channels import command  # noqa: PLC0415 - as above

            return partial(command.send, spec.to, text, clock=clock, folder=folder, grace_s=spec.kill_grace_s)
        case ChannelSpec():
            from autopilot.publish.channels import webhook  # noqa: PLC0415 - httpx only where needed

            found = webhook.address(spec.to)
            return partial(webhook.send, found, spec.to, text) if isinstance(found, str) else found
        case _:
            assert_never(spec.to)


def is_there(spec: DeliverySpec, *, clock: Clock, folder: Path) -> bool:
    """Tell whether what an earlier try left its mark of has arrived; only an issue can be asked."""
    match spec.to:
        case IssueTarget():
            from autopilot.publish.channels import issue  # noqa: PLC0415 - httpx only where needed

            return issue.is_there(spec.to, spec.text, clock=clock, folder=folder)
        case ChannelSpec():
            return False
        case _:
            assert_never(spec.to)
