"""Looks the machine over while the daemon is on, by a child, and makes holds of what says NO-GO.

The look is off the loop's thread, time-boxed, and in the daemon's own surroundings: what a terminal can sign
in with, a service may not. Must not judge a line itself, and must not keep a ticket waiting because it could
not look. Source: docs/decisions/0148.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.atomic import make_folder
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.logs import logger
from autopilot.config.proc import SpawnError
from autopilot.daemon.breaker import HOST
from autopilot.daemon.store import queries_host, queries_tickets
from autopilot.schemas.events import Event
from autopilot.schemas.ticket import Hold
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.daemon.shop import Shop
    from autopilot.daemon.supervisor import Supervisor
    from autopilot.schemas.checkup import Check, Checkup

CHECK_UP = "check-up"
"""The hold of the moments before the first answer."""
_FOLDER = "checkup"
FIRST_ANSWER_S = 45.0
"""So long a launch waits for the first look after the switch was turned on, and no longer."""
_AGAIN_S = 60.0
"""While something says NO-GO it is asked again this soon."""
_MAX_BYTES = 4 * 1024 * 1024


class Probing:
    """What this daemon has seen. A restart forgets it, and looks again.

    Its own times are seconds that follow no clock that is set: a look's age counts sleep, and the patience
    of a launch does not, for the child that it waits for slept as well.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        """Take who watches the child alone: no draining daemon waits for it."""
        self._supervisor = supervisor
        self._key: str | None = None
        self._asked_s: float | None = None
        self._answered_s: float | None = None
        """When the look that was answered last was asked for."""
        self._waits_since_s: float | None = None
        """Awake: since when a launch may wait for an answer; None while the switch is off."""
        self._blocking: tuple[Check, ...] = ()

    def __call__(self, shop: Shop) -> int | None:
        """Take up what was found, and look again when it is time; gives when to come back (UTC epoch ms)."""
        is_news = self._take_up(shop)
        if not self._is_on(shop):
            self._waits_since_s, self._asked_s, self._answered_s, self._blocking = None, None, None, ()
            return None
        if self._waits_since_s is None:
            self._waits_since_s = shop.clock.monotonic_s()
        left_s = self._left_s(shop)
        if self._key is None and left_s is not None and left_s <= 0:
            self._look(shop)
        if self._key is not None:  # its end wakes the loop by itself
            left_s = self._patience_s(shop) or None
        if is_news:
            return shop.now_ms()
        return None if left_s is None else shop.now_ms() + round(max(0.0, left_s) * MS_PER_S)

    def holds(self, shop: Shop) -> tuple[Hold, ...]:
        """Give what keeps runs from starting by what was seen; what a person has overruled does not.

        A look that ended while the loop stood still counts before anything starts; where the last is older
        than the next was due, the next is waited for, unless something says NO-GO already.
        """
        self._take_up(shop)
        if held := self._held(shop):
            return held
        now_ms, patience_s = shop.now_ms(), self._patience_s(shop)
        if patience_s <= 0:
            return ()
        cause = "the machine is looked over before a run starts"
        # Before it is asked for nothing ends by itself: an idle daemon is not woken for that.
        until_ms = None if self._key is None else now_ms + round(patience_s * MS_PER_S)
        cure = "clears by itself"
        return (Hold(name=CHECK_UP, scope=HOST, cause=cause, since_ms=now_ms, cure=cure, clears_ms=until_ms),)

    def close(self) -> None:
        """End the child: nobody waits for its answer any more."""
        self._supervisor.stop_all("the daemon stops")
        if self._key is not None:
            self._supervisor.forget(self._key)

    def _held(self, shop: Shop) -> tuple[Hold, ...]:
        if not self._blocking:
            return ()
        from autopilot.daemon import arming  # noqa: PLC0415 - where something says NO-GO

        forced, now_ms = {line.name for line in arming.forced(shop.paths)}, shop.now_ms()
        return tuple(
            Hold(
                name=line.hold,
                scope=line.scope,
                cause=f"{line.name}: {line.evidence}",
                since_ms=now_ms,
                cure=line.cure,
            )
            for line in self._blocking
            if line.name not in forced
        )

    def _is_on(self, shop: Shop) -> bool:
        if not shop.settings.checkup.every_s:
            return False
        with shop.store.read() as conn:
            return queries_host.switch(conn).may_launch(shop.now_ms())

    def _patience_s(self, shop: Shop) -> float:
        """Give the seconds for which a launch still waits for an answer."""
        if not shop.settings.checkup.every_s or self._is_recent(shop, self._answered_s):
            return 0.0
        is_due = self._key is None and not self._is_recent(shop, self._asked_s)
        if self._waits_since_s is None or is_due:
            return FIRST_ANSWER_S
        return max(0.0, self._waits_since_s + FIRST_ANSWER_S - shop.clock.monotonic_s())

    def _is_recent(self, shop: Shop, asked_s: float | None) -> bool:
        """Tell whether no later look had to be answered by now."""
        if asked_s is None:
            return False
        return shop.clock.elapsed_s() - asked_s <= shop.settings.checkup.every_s + 2 * FIRST_ANSWER_S

    def _left_s(self, shop: Shop) -> float | None:
        """Give the seconds until the next look: none at first, then for as long as somebody waits."""
        if self._asked_s is None:
            return 0.0
        with shop.store.read() as conn:
            agent = shop.settings.default_agent
            waiting = queries_tickets.candidates(conn, shop.now_ms(), default_agent=agent, limit=1)
        if not waiting:
            return None
        every_s = shop.settings.checkup.every_s
        pause_s = min(_AGAIN_S, every_s) if self._blocking else every_s
        return self._asked_s + pause_s - shop.clock.elapsed_s()

    def _look(self, shop: Shop) -> None:
        self._asked_s, self._waits_since_s = shop.clock.elapsed_s(), shop.clock.monotonic_s()
        key = shop.paths.mark("checkup")
        folder = shop.paths.state / _FOLDER
        try:
            from autopilot.daemon import children  # noqa: PLC0415 - an idle daemon has none

            make_folder(folder)
            look_file(shop.paths).unlink(missing_ok=True)
            children.renew_handed(shop.paths)
            self._supervisor.start(children.checkup_launch(key, look_file(shop.paths)))
        except (OSError, SpawnError) as error:
            logger("daemon").warning(Event.CHECKUP_FAILED, reason=str(error))
            self._answered_s = self._asked_s
            return
        self._key = key

    def _take_up(self, shop: Shop) -> bool:
        """Read what the child found, once it has ended; say whether it has."""
        if self._key is None:
            return False
        watch = self._supervisor.get(self._key)
        if watch is not None and watch.ending is None:
            return False
        self._supervisor.forget(self._key)
        self._key, self._answered_s = None, self._asked_s
        try:
            found = read_look(shop.paths)
        except (UnreadableError, ValidationError) as error:
            told = watch.ending.told if watch is not None and watch.ending is not None else "it is gone"
            logger("daemon").warning(Event.CHECKUP_FAILED, reason=f"{told}; {error}")
            return True
        self._tell(found)
        self._blocking = tuple(line for line in found.checks if line.blocks and line.hold)
        return True

    def _tell(self, found: Checkup) -> None:
        before = {(line.name, line.scope) for line in self._blocking}
        for line in found.checks:
            if line.blocks and line.hold and (line.name, line.scope) not in before:
                facts = {"line": line.name, "scope": line.scope, "evidence": line.evidence}
                logger("daemon").warning(Event.CHECKUP_REFUSED, hint=line.cure, **facts)


def look_file(paths: Paths) -> Path:
    """Name the file of the last look; it is not there while one is under way."""
    return paths.state / _FOLDER / "look.json"


def read_look(paths: Paths) -> Checkup:
    """Give the last look.

    Raises:
        UnreadableError: there is none, or it cannot be read.
        ValidationError: it is no look.
    """
    from autopilot.schemas.checkup import Checkup  # noqa: PLC0415 - an idle daemon has none

    return Checkup.model_validate_json(read_plain(look_file(paths), max_bytes=_MAX_BYTES))
