"""What became of our pull requests of one repository: asked by number, and answered only when it is certain.

Must not change anything anywhere. Whatever speaks against an answer (another branch under that number, no
time left, a refusal) makes it `unknown`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.git import Git
from autopilot.publish import credential
from autopilot.publish.forges import registry
from autopilot.publish.heads import Heads
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.publication import PullState, PullStateReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.publish.forges.forge import Forge
    from autopilot.schemas.publication import PullQuestion, PullStateSpec


def inquire(spec: PullStateSpec, *, clock: Clock, folder: Path) -> PullStateReport:
    """Ask about each pull request.

    Args:
        spec: which ones, and where.
        clock: the time.
        folder: this question's own private folder.

    Returns:
        One answer for each question; any error on purpose makes answers unknown.
    """
    until_s = clock.monotonic_s() + spec.wall_s

    def is_late() -> str | None:
        return "out of time" if clock.monotonic_s() >= until_s else None

    git = Git(clock, scratch=folder / "git", grace_s=spec.kill_grace_s, should_stop=is_late)
    try:
        with credential.access(spec.forge.credential, folder, then="ask again: autopilot doctor") as access:
            heads = Heads(git, folder / "heads.git", spec.forge.push_url, access=access, mirror=spec.mirror)
            limit_s = min(registry.TIMEOUT_S, spec.wall_s)
            with registry.open_forge(
                spec.forge, access, clock=clock, shown=heads, timeout_s=limit_s
            ) as forge:
                answers = tuple(_answers(spec, forge, is_late))
    except AutopilotError as exc:
        return unknown(spec, exc.code, exc.what, now_ms=clock.now_ms())
    return PullStateReport(id=spec.id, answers=answers, finished_ms=clock.now_ms())


def unknown(spec: PullStateSpec, code: str, message: str, *, now_ms: int) -> PullStateReport:
    """Say that nothing is known of any of them, and why."""
    answers = tuple(_doubt(each, code, message) for each in spec.pulls)
    return PullStateReport(id=spec.id, answers=answers, finished_ms=now_ms)


def _answers(spec: PullStateSpec, forge: Forge, is_late: Callable[[], str | None]) -> Iterator[PullState]:
    for asked in spec.pulls:
        if is_late():
            yield _doubt(asked, "out-of-time", f"not asked within {spec.wall_s:g} s")
        else:
            yield _answer(forge, asked)


def _answer(forge: Forge, asked: PullQuestion) -> PullState:
    try:
        known = forge.get(asked.number)
    except AutopilotError as exc:
        return _doubt(asked, exc.code, exc.what)
    if known.branch != asked.branch:
        what = f"pull request {asked.number} is of the branch {known.branch!r}, not {asked.branch!r}"
        return _doubt(asked, "another-pull-request", what)
    return PullState(publication=asked.publication, state=known.pr.state)


def _doubt(asked: PullQuestion, code: str, message: str) -> PullState:
    return PullState(publication=asked.publication, state="unknown", code=code, message=message)
