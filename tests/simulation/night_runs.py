"""Runs of an hour, and a forge whose token may be revoked: for the simulated week."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.config.gitfault import GitError
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import TransientError
from tests.simulation.ends import Script
from tests.simulation.forge import VirtualForge
from tests.simulation.runners import Runner

if TYPE_CHECKING:
    from tests.simulation.week import Week

_GIT = ("push", "ls-remote")
_SLEPT_MS = 30_000
_STEP_MS = (60_000, 900_000)


class NightRunner(Runner):
    """Does its work, unless the machine sleeps under it: then its connections are dead."""

    _world: Week

    def _live(self) -> Script:
        world, chance = self._world, self._world.chance
        slept_ms = world.clock.slept_ms
        for _ in range(chance.between(2, 5)):
            self._spend(chance.between(0, (self._ceiling - self._cost) // 4))
            self._tell()
            yield chance.between(*_STEP_MS)
            if world.clock.slept_ms > slept_ms + _SLEPT_MS:
                world.promises.broke(self.run_id)
                self._write(self._result("agent-failed"))
                yield 1000
                return 0
            if world.is_signed_out:
                world.promises.refused(self._spec["ticket_id"])
                self._write(self._result("credential"))
                yield 1000
                return 0
        return (yield from self._end("committed"))


class NightForge(VirtualForge):
    """Refuses everything with the answers of a real one while the token is revoked."""

    def __init__(self, week: Week) -> None:
        super().__init__(week)
        self._week = week

    @contextmanager
    def across(self, deed: str) -> Iterator[None]:
        if self._week.is_cut_off:
            self._week.marks["cut off"] += 1
            raise TransientError("forge-unreachable", f"no way to the forge for {deed}", hint="wait")
        if self._week.is_revoked:
            self._week.marks["revoked"] += 1
            if deed.startswith(_GIT):
                raise GitError("git-auth", "not signed in", stderr_tail="fatal: Authentication failed")
            what = f"the forge refused {deed}: Bad credentials"
            raise Stop("forge-refused-credential", what, waiting_for="credential", hint="store a token")
        with super().across(deed):
            yield
