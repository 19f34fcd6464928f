"""The phases of a run, by number. A run walks them in order; none is added or left out by a mode.

0 `init` · 1 `baseline` (planning joins it) · 2 `develop`, which has `checking` run the gates · 3 review, that
has no reviewer yet and is recorded as skipped · 4 `commit` · 5 `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.chronicle import COMMIT, DEV, INIT, PLAN, REPORT, REVIEW
from autopilot.runner.message import outward_title
from autopilot.runner.phases import baseline, init, report
from autopilot.runner.phases.develop import develop
from autopilot.schemas.errors import InvariantError

if TYPE_CHECKING:
    from autopilot.runner.shop import Shop

_NO_REVIEWER = "no reviewer is configured"


def walk(shop: Shop) -> None:
    """Walk the phases to a commit that passed the gates, and ask for its publication.

    Raises:
        AutopilotError, OSError: the run ends without one.
    """
    chronicle, notebook = shop.chronicle, shop.notebook
    chronicle.enter(INIT)
    ready = init.prepare(shop)
    chronicle.leave(INIT)
    chronicle.enter(PLAN)
    before = baseline.take(shop, ready)
    chronicle.leave(PLAN, notes="the base was measured; there is no plan")
    chronicle.enter(DEV)
    rounds = develop(shop, ready, before)
    chronicle.leave(DEV, retryCount=rounds - 1)
    chronicle.leave(REVIEW, status="skipped", notes=_NO_REVIEWER)
    chronicle.enter(COMMIT)
    if notebook.head is None or notebook.base is None:
        raise InvariantError("commit-missing", "the gates were green over no commit")
    message = {"sha": notebook.head, "message": outward_title(shop.spec)}
    chronicle.note({"commit": message})
    chronicle.leave(COMMIT, files=[line.path for line in notebook.scope])
    chronicle.enter(REPORT)
    shop.go_on()
    report.request_publication(shop, base=notebook.base.name, head=notebook.head)
    chronicle.leave(REPORT)
