"""Keeps the machine awake from on to off, by the awake service that was installed beside the daemon's.

Must not keep a run from starting: without that service each run still holds a lock of its own. Must not
believe that a service that was started holds anything: it is asked again a little later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon.store import queries_host
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from autopilot.daemon.shop import Shop
    from autopilot.launchd.keeper import Keeper

_KEY = "night"
_SETTLED_MS = 15 * MS_PER_S
"""By then the service holds the machine awake, or was refused too often and given up."""


class Vigil:
    """Follows the switch on every tick."""

    def __init__(self, keeper: Keeper | None) -> None:
        """Take who starts and ends the awake service; None where no service keeps us."""
        self._keeper = keeper
        self._is_kept: bool | None = None
        """What was asked of it last and done; None: nothing, or it was refused, so that it is asked again."""
        self._is_wanted: bool | None = None
        self._ask_ms: int | None = None

    def __call__(self, shop: Shop) -> int | None:
        """Start or end it when the switch turned; gives when to look next (UTC epoch ms)."""
        if self._keeper is None:
            return None
        with shop.store.read() as conn:
            switch = queries_host.switch(conn)
        now_ms = shop.now_ms()
        is_over = switch.until_ms is not None and switch.until_ms <= now_ms
        is_wanted = switch.is_on and not is_over and shop.settings.awake.enabled
        if is_wanted != self._is_wanted:
            self._is_wanted = is_wanted
            self._follow(self._keeper, now_ms)
        elif self._ask_ms is not None and now_ms >= self._ask_ms:
            if self._is_kept == is_wanted:
                self._ask_ms = None
                _tell(self._keeper)
            else:
                self._follow(self._keeper, now_ms)
        ahead = [moment for moment in (self._ask_ms, switch.until_ms if is_wanted else None) if moment]
        return min(ahead, default=None)

    def close(self) -> None:
        """Let the machine sleep: nobody would end it after us. A refusal is no answer to rest on."""
        if self._keeper is not None and self._is_wanted is not None and self._is_kept is not False:
            _keep(self._keeper, is_wanted=False)

    def _follow(self, keeper: Keeper, now_ms: int) -> None:
        """Ask for what is wanted; once more a little later where it was refused."""
        is_wanted = self._is_wanted is True
        self._is_kept = is_wanted if _keep(keeper, is_wanted=is_wanted) else None
        self._ask_ms = now_ms + _SETTLED_MS if is_wanted or self._is_kept is None else None


def _keep(keeper: Keeper, *, is_wanted: bool) -> bool:
    try:
        keeper.keep_awake(is_wanted=is_wanted)
    except AutopilotError as error:
        logger("daemon").warning(Event.AWAKE_UNAVAILABLE, key=_KEY, reason=error.code, detail=error.what)
        return False
    return True


def _tell(keeper: Keeper) -> None:
    log = logger("daemon")
    if keeper.is_awake():
        log.info(Event.AWAKE_HELD, key=_KEY, kind=keeper.init)
    else:
        detail = "the awake service does not run: not installed, or the system refuses the lock"
        log.warning(Event.AWAKE_UNAVAILABLE, key=_KEY, reason="awake-not-given", detail=detail)
