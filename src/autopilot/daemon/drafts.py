"""What became of open drafts: asked at the forge by a child, off the loop's thread, and written down.

Asked where drafts keep a ticket from starting and before a digest, a repository at most once in a while.
Must not ask the forge itself, nor say what follows from an answer: `inquiry.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.config.proc import SpawnError
from autopilot.daemon import schedules
from autopilot.daemon.admission import REVIEW_LOAD
from autopilot.daemon.store import nights, queries_host, queries_runs
from autopilot.daemon.store.nights import LastTime
from autopilot.daemon.store.unit import in_one
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from autopilot.daemon.shop import Shop
    from autopilot.daemon.supervisor import Supervisor
    from autopilot.schemas.publication import PullStateSpec

SCHEDULE = schedules.PUBLISH_STATE
ASK_EVERY_MS = 600 * MS_PER_S
MAX_AT_ONCE = 2
_SCOPE = "repo:"


@dataclass(frozen=True, slots=True)
class _Question:
    """What one child was started to find out."""

    key: str
    spec: PullStateSpec
    fences: Mapping[str, int]
    """Of the publications that are asked about, as they were when the question was made."""


class Drafts:
    """Knows who was asked when. A restart forgets that, and asks again."""

    def __init__(self, supervisor: Supervisor) -> None:
        """Take who watches these children alone: no draining daemon waits for them."""
        self._supervisor = supervisor
        self._asked_ms: dict[str, int] = {}
        self._told_ms: dict[str, int] = {}
        self._under_way: dict[str, _Question] = {}

    def __call__(self, shop: Shop) -> int | None:
        """Write down what was answered, and ask where drafts keep a ticket waiting.

        Returns:
            When to look again (UTC epoch ms): at once after a change, for a ticket may start now.
        """
        changes = [self._take_up(shop, repo) for repo in tuple(self._under_way)]
        held = _held(shop)
        self._ask_all(shop, (repo for repo in held if self._is_due(repo, shop.now_ms())))
        if any(changes):
            return shop.now_ms()
        # One that is due and was not asked waits for a child's end, which wakes the loop by itself.
        now_ms = shop.now_ms()
        waits = [self._asked_ms[repo] for repo in held if not self._is_due(repo, now_ms)]
        return min(waits) + ASK_EVERY_MS if waits else None

    def are_told(self, shop: Shop, due_ms: int) -> bool:
        """Tell whether every repository with drafts was asked by a moment (UTC epoch ms), or just before.

        Those that were not are asked now, each once: the loop is woken by their end, however it is.
        """
        with shop.store.read() as conn:
            repos = queries_runs.repos_with_drafts(conn)
        self._ask_all(shop, self._late(repos, due_ms))
        return not self._late(repos, due_ms)

    def close(self) -> None:
        """End what is under way; nobody waits for an answer any more."""
        self._supervisor.stop_all("the daemon stops")
        for asked in self._under_way.values():
            self._supervisor.forget(asked.key)

    def _is_due(self, repo: str, now_ms: int) -> bool:
        asked_ms = self._asked_ms.get(repo)
        return asked_ms is None or not asked_ms <= now_ms < asked_ms + ASK_EVERY_MS

    def _late(self, repos: Iterable[str], due_ms: int) -> list[str]:
        return [repo for repo in repos if self._told_ms.get(repo, 0) < due_ms - ASK_EVERY_MS]

    def _ask_all(self, shop: Shop, repos: Iterable[str]) -> None:
        for repo in repos:
            if len(self._under_way) < MAX_AT_ONCE and repo not in self._under_way:
                self._ask(shop, repo)

    def _ask(self, shop: Shop, repo: str) -> None:
        key, is_first = shop.paths.mark(f"drafts-{repo}"), repo not in self._asked_ms
        self._asked_ms[repo] = shop.now_ms()
        if is_first:
            self._supervisor.sweep(key, None)  # an earlier daemon's, if it was killed
        try:
            from autopilot.daemon import inquiry  # noqa: PLC0415 - an idle daemon asks nothing

            spec, fences = inquiry.question(shop, repo)
            if spec.pulls:
                self._supervisor.start(inquiry.launch(shop, repo, key, spec))
                self._under_way[repo] = _Question(key, spec, fences)
                logger("daemon").debug(Event.DRAFTS_ASKED, repo=repo, drafts=len(spec.pulls))
                return
        except (OSError, ConfigError, SpawnError) as error:
            _doubt(repo, str(error))
        self._told_ms[repo] = shop.now_ms()

    def _note(self, shop: Shop, repo: str, outcome: str, detail: str) -> None:
        """Let it be read how it went, also after a restart."""
        asked_ms = self._asked_ms[repo]
        last = LastTime(
            name=f"{SCHEDULE} {repo}",
            due_ms=asked_ms,
            ended_ms=shop.now_ms(),
            outcome=outcome,
            detail=detail,
            next_ms=asked_ms + ASK_EVERY_MS,
        )
        in_one(shop.store, lambda unit: nights.note_schedule(unit, last))

    def _take_up(self, shop: Shop, repo: str) -> bool:
        """Write down what one child found out, once it has ended; say whether anything changed."""
        asked = self._under_way[repo]
        watch = self._supervisor.get(asked.key)
        if watch is None or watch.ending is None:
            return False
        from autopilot.daemon import inquiry, verdicts  # noqa: PLC0415 - as above

        del self._under_way[repo]
        self._supervisor.forget(asked.key)
        self._told_ms[repo] = shop.now_ms()
        report = verdicts.report_of(asked.spec)
        if isinstance(report, str):
            _doubt(repo, f"{watch.ending.told}; {report}")
            self._note(shop, repo, "failed", f"{watch.ending.told}; {report}")
            return False
        doubts = sum(answer.state == "unknown" for answer in report.answers)
        outcome, of = "failed" if doubts else "done", len(report.answers)
        self._note(shop, repo, outcome, f"{doubts} of {of} drafts could not be told" if doubts else "")
        for (code, message), drafts in inquiry.doubts(report).items():
            _doubt(repo, message, code=code, drafts=", ".join(drafts))
        changes = [
            inquiry.is_recorded(shop, answer, fence=asked.fences[answer.publication])
            for answer in report.answers
        ]
        return any(changes)


def _doubt(repo: str, reason: str, **facts: str) -> None:
    logger("daemon").warning(Event.DRAFTS_DOUBTED, repo=repo, reason=reason, **facts)


def _held(shop: Shop) -> list[str]:
    """Name the repositories in which drafts keep a ticket from starting."""
    with shop.store.read() as conn:
        holds = queries_host.holds(conn)
    return [hold.scope.removeprefix(_SCOPE) for hold in holds if hold.name == REVIEW_LOAD]
