"""The forges, one line each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.publish import remote
from autopilot.publish.forges.local import LocalForge
from autopilot.publish.stops import Stop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from autopilot.config.clock import Clock
    from autopilot.publish.askpass import Access
    from autopilot.publish.context import Context
    from autopilot.publish.forges.forge import Forge
    from autopilot.publish.forges.local import Shown
    from autopilot.schemas.publication import ForgeSpec

TIMEOUT_S = 30.0


def opened(ctx: Context, access: Access) -> AbstractContextManager[Forge]:
    """Open the forge that a publication goes to."""
    return open_forge(ctx.spec.forge, access, clock=ctx.clock, shown=remote.InStaging(ctx))


@contextmanager
def open_forge(
    spec: ForgeSpec, access: Access, *, clock: Clock, shown: Shown, timeout_s: float = TIMEOUT_S
) -> Iterator[Forge]:
    """Open a forge.

    Args:
        spec: which one, and where.
        access: the credential.
        clock: the time.
        shown: what the remote shows, for a forge that knows only its own records.
        timeout_s: how long one answer may take.

    Raises:
        Stop: its configuration is incomplete.
    """
    match spec.kind:
        case "local":
            if spec.record_dir is None:
                raise Stop(
                    "no-record-dir",
                    "the local forge has no folder for its pull requests",
                    waiting_for="configuration",
                    hint="the daemon names it by itself: send a report with `autopilot report`",
                )
            yield LocalForge(spec.record_dir, spec.project or "local", clock=clock, remote=shown)
        case "github":
            from autopilot.publish.forges.github import GitHubForge  # noqa: PLC0415 - httpx only where needed

            with GitHubForge(spec.api_url, spec.project, access, clock=clock, timeout_s=timeout_s) as forge:
                yield forge
