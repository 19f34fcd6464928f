"""What is left of a ticket on the disk, for every reader: run folder or saved copy, worktree or none and why.

Must not change anything, and must not follow what an agent may have put there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.config.paths import JUDGE_REPOSITORY, read_folder
from autopilot.schemas.errors import InvariantError

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.schemas.agent_state import AgentState
    from autopilot.schemas.salvage import Salvage

_MAX_PATCH_BYTES = 2_000_000


def state_of(paths: Paths, ticket: str, run_id: str) -> AgentState | None:
    """Read a run's record from its folder, or else from what was saved of it."""
    from autopilot.runner.chronicle import STATE_FILE  # noqa: PLC0415 - an idle daemon needs none
    from autopilot.runner.state import read_state  # noqa: PLC0415 - as above

    try:
        return read_state(read_folder(paths, ticket, run_id, STATE_FILE) / STATE_FILE)
    except InvariantError:
        return None


def worktree_told(paths: Paths, ticket: str, run_id: str | None) -> dict[str, Any]:
    """Say whether a ticket's worktree is there, and if not, whether that is as it should be."""
    place = paths.worktree(ticket)
    state = state_of(paths, ticket, run_id) if run_id else None
    removed_at = state.worktree_removed_at if state else None
    return {
        "path": str(place),
        "is_there": place.is_dir() and not place.is_symlink(),
        "removed_at": removed_at,
        "artifacts": state.artifacts_path if state else None,
        "told": _told(is_there=place.is_dir(), removed_at=removed_at, had_run=state is not None),
    }


def _told(*, is_there: bool, removed_at: object, had_run: bool) -> str:
    if is_there:
        return "there"
    if removed_at is not None:
        return f"tidied away at {removed_at}"
    return "missing, and nobody wrote down that it was removed" if had_run else "not made yet"


def saved_work(paths: Paths, ticket: str) -> list[dict[str, Any]]:
    """Give what was saved of a ticket's worktrees, the oldest first; nothing where they held nothing."""
    return [one.model_dump(mode="json") for one in _salvages(paths, ticket)]


def saved_patch(paths: Paths, ticket: str, run_id: str) -> str:
    """Give the change that a run's worktree held, where the run's own repository is gone."""
    patches = [one.patch for one in _salvages(paths, ticket) if one.run_id == run_id and one.patch]
    if not patches or (paths.run_dir(run_id) / JUDGE_REPOSITORY).is_dir():
        return ""
    try:
        with patches[-1].open("rb") as file:
            return file.read(_MAX_PATCH_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""


def _salvages(paths: Paths, ticket: str) -> list[Salvage]:
    from autopilot.runner.salvage import salvages  # noqa: PLC0415 - as above

    folder: Path = paths.salvage / ticket
    return [one for one in salvages(folder) if not one.is_empty] if folder.is_dir() else []
