"""Phase 5, Report: the request to publish, for the daemon to act on.

Must not claim anything that the publisher will not look up again: a request decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.atomic import make_folder
from autopilot.runner.message import is_outward, outward, outward_title
from autopilot.runner.outbox import write_record
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from autopilot.runner.shop import Shop

_MAX_SUMMARY_CHARS = 20_000


def request_publication(shop: Shop, *, base: str, head: str) -> None:
    """Put the request into its file, whole.

    Raises:
        OSError: it cannot be written.
    """
    from autopilot.schemas.publication import PublishRequest  # noqa: PLC0415 - few runs come this far

    spec, notebook = shop.spec, shop.notebook
    request = PublishRequest(
        id=spec.pr_request.stem,
        ticket=spec.ticket_id,
        run=spec.run_id,
        repo_id=spec.repo.name,
        base=base,
        branch=spec.branch,
        head=head,
        title=outward_title(spec),
        summary=outward(spec, notebook.final_text)[:_MAX_SUMMARY_CHARS],
        scope_check=notebook.scope,
        gates=notebook.gates,
        usage=notebook.usage(),
        notes=tuple(note for note in notebook.warnings if is_outward(spec, note)),
        blocked=notebook.barrier.told(),
        created_ms=shop.clock.now_ms(),
    )
    make_folder(spec.pr_request.parent)
    write_record(spec.pr_request, request)
    shop.tell(Event.PR_REQUESTED, id=request.id, head=head)
