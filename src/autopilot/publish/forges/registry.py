"""The forges, one line each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.publish import remote
from autopilot.publish.forges.local import LocalForge
from autopilot.publish.stops import Stop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.publish.askpass import Access
    from autopilot.publish.context import Context
    from autopilot.publish.forges.forge import Forge


@contextmanager
def opened(ctx: Context, access: Access) -> Iterator[Forge]:
    """Open the forge that the spec names."""
    spec = ctx.spec.forge
    match spec.kind:
        case "local":
            if spec.record_dir is None:
                raise Stop(
                    "no-record-dir",
                    "the local forge has no folder for its pull requests",
                    waiting_for="configuration",
                )
            project = spec.project or "local"
            yield LocalForge(
                spec.record_dir, project, clock=ctx.clock, is_merged=lambda sha: remote.holds(ctx, sha)
            )
        case "github":
            from autopilot.publish.forges.github import GitHubForge  # noqa: PLC0415 - httpx only where needed

            with GitHubForge(spec.api_url, spec.project, access, clock=ctx.clock) as forge:
                yield forge
