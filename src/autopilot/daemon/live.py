"""What is under way by the store, also where a row of it cannot be read, and what is to be done about each.

Must not let one unreadable ticket keep the others from being adopted or judged. Runs and publications are
imported once there is one, and before any ticket is looked at: what keeps an import from coming to an end is
no fault of a ticket.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from autopilot.daemon.store import queries_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol

    from autopilot.daemon.shop import Shop
    from autopilot.daemon.store.rows import LivePublication, LiveRun
    from autopilot.schemas.ticket import Ticket

    T = TypeVar("T")
    Acts = Iterator[tuple[Ticket, Callable[[], object]]]
    """A ticket each, and what to do about it."""

    class Contain(Protocol):
        """Takes a step; None where it failed, which is logged, and mends rows that cannot be read."""

        def __call__(self, step: Callable[[], T]) -> T | None: ...


class Live(NamedTuple):
    """Runs and publications under way."""

    runs: tuple[LiveRun, ...]
    publications: tuple[LivePublication, ...]
    is_whole: bool
    """False: rows that cannot be read are left out."""

    @property
    def keys(self) -> set[str]:
        """Give what their watches are known by."""
        return {run.attempt.run_id for run in self.runs} | {one.publication.id for one in self.publications}

    def adoptions(self, shop: Shop) -> Acts:
        """Give, for each that nobody watches, its ticket and how to adopt it."""
        if not self.keys:
            return
        from autopilot.daemon import publishing, running  # noqa: PLC0415 - an idle daemon has none

        for run in self.runs:
            if shop.supervisor.get(run.attempt.run_id) is None:
                yield run.ticket, partial(running.adopt, shop, run)
        for publication in self.publications:
            if shop.supervisor.get(publication.publication.id) is None:
                yield publication.ticket, partial(publishing.adopt, shop, publication)

    def steps(self, shop: Shop) -> Acts:
        """Give, for each, its ticket and how to look at it: to stop it, leave it, or judge its end."""
        if not self.keys:
            return
        from autopilot.daemon import publishing, running  # noqa: PLC0415 - as above

        for run in self.runs:
            yield run.ticket, partial(running.step, shop, run)
        for publication in self.publications:
            yield publication.ticket, partial(publishing.step, shop, publication)


def beginnings(shop: Shop, ready: Sequence[Ticket]) -> Acts:
    """Give, for each committed ticket, how its publication is begun."""
    if not ready:
        return
    from autopilot.daemon import publishing  # noqa: PLC0415 - as above

    for ticket in ready:
        yield ticket, partial(publishing.begin, shop, ticket)


def look(shop: Shop, contain: Contain) -> Live:
    """Read what is under way: all of it, else again once rows were mended, else what can be read.

    Raises:
        AutopilotError: nothing can be read now.
    """
    for _ in range(2):
        found = contain(partial(_whole, shop))
        if found is not None:
            return found
    with shop.store.read() as conn:
        return Live(queries_runs.running_singly(conn), queries_runs.publishing_singly(conn), is_whole=False)


def _whole(shop: Shop) -> Live:
    with shop.store.read() as conn:
        return Live(queries_runs.running(conn), queries_runs.publishing(conn), is_whole=True)
