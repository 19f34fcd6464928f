"""One inquiry after the drafts of a repository: what its child is told, and what follows from its answer.

Must not start the child (`drafts.py` does), and must take nothing but a certain answer: anything else changes
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from autopilot.config.atomic import make_folder, write_atomically
from autopilot.config.paths import SPEC_FILE
from autopilot.daemon import specs
from autopilot.daemon.children import renew_handed, side_publisher
from autopilot.daemon.errand import Errand
from autopilot.daemon.store import queries_runs, writes
from autopilot.schemas.errors import StaleTransitionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.daemon.shop import Shop
    from autopilot.daemon.supervisor import Launch
    from autopilot.schemas.publication import PullState, PullStateReport, PullStateSpec


def question(shop: Shop, repo: str) -> tuple[PullStateSpec, Mapping[str, int]]:
    """Say what is asked, and the fence of each publication that it is asked about."""
    with shop.store.read() as conn:
        drafts = queries_runs.drafts_of(conn, repo)
    spec = specs.pull_state_spec(repo, drafts, settings=shop.settings, paths=shop.paths, now_ms=shop.now_ms())
    return spec, {draft.id: draft.fence for draft in drafts}


def launch(shop: Shop, repo: str, key: str, spec: PullStateSpec) -> Launch:
    """Lay the question down; an answer to an earlier one must not be taken for its."""
    folder = shop.paths.drafts_dir(repo)
    make_folder(folder)
    spec.report.unlink(missing_ok=True)
    write_atomically(folder / SPEC_FILE, spec.model_dump_json(indent=1).encode())
    renew_handed(shop.paths)
    return side_publisher(
        "state",
        folder / SPEC_FILE,
        key=key,
        errand=Errand.to_forge(spec.forge),
        log="inquiry.log",
        limit_s=spec.wall_s,
        grace_s=spec.kill_grace_s,
    )


def is_recorded(shop: Shop, answer: PullState, *, fence: int) -> bool:
    """Write down one certain answer; what a person has said meanwhile stands, and so does a later try."""
    match answer.state:
        case "merged" | "closed" as state:
            try:
                return writes.record_pr_state(
                    shop.store, answer.publication, state, fence=fence, only_if_open=True
                )
            except StaleTransitionError:
                return False
        case "open" | "unknown":
            return False
        case _:
            assert_never(answer.state)


def doubts(report: PullStateReport) -> Mapping[tuple[str, str], list[str]]:
    """Give each reason, code and sentence, for which drafts could not be told, with those drafts."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for answer in report.answers:
        if answer.state == "unknown":
            reasons.setdefault((answer.code, answer.message), []).append(answer.publication)
    return reasons
