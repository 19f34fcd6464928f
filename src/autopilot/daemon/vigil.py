"""Keeps the machine awake from on to off: by the awake service, or a daemon that no service keeps by itself.

Must not keep a run from starting: without it each run still holds a lock of its own. Must not believe that
a service that was started holds anything: it is asked again a little later, and now and then all night.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from autopilot.config.logs import logger
from autopilot.daemon.own_lock import OwnLock, ServiceAndLid
from autopilot.daemon.store import nights, queries_host
from autopilot.daemon.told import RUN
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from autopilot.daemon.shop import Shop

NIGHT = "night"
"""The name under which the lock from on to off is kept."""
_SETTLED_MS = 15 * MS_PER_S
"""By then the service holds the machine awake, or was refused too often and given up."""
_LOOK_MS = 60 * MS_PER_S
"""How often a lock of this process is looked at, which costs next to nothing."""
_ASK_MS = 300 * MS_PER_S
"""How often a keeper is asked, which starts a program."""


class Wakeful(Protocol):
    """Who keeps the machine awake: a keeper of services, or this process."""

    @property
    def init(self) -> str:
        """Give its name, or the kind of its lock."""
        ...

    def keep_awake(self, *, is_wanted: bool) -> None:
        """Begin or end to.

        Raises:
            AutopilotError: it was refused, and may not be a little later.
        """
        ...

    def is_awake(self) -> bool:
        """Tell whether it does."""
        ...


class Vigil:
    """Follows the switch on every tick."""

    def __init__(self, keeper: Wakeful | None) -> None:
        """Take who keeps the machine awake; None where nobody is to."""
        self._keeper = keeper
        self._is_kept: bool | None = None
        """What was asked of it last and done; None: nothing, or it was refused, so that it is asked again."""
        self._is_wanted: bool | None = None
        self._ask_ms: int | None = None
        self._is_asked = True
        self._is_held = False
        """What was told of it last."""
        self._look_ms = 0
        self._owes_forgetting = False

    def __call__(self, shop: Shop) -> int | None:
        """Start or end it when the switch turned; gives when to look next (UTC epoch ms)."""
        self._forget_unasked(shop)
        if self._keeper is None:
            return None
        with shop.store.read() as conn:
            switch = queries_host.switch(conn)
        now_ms = shop.now_ms()
        is_over = switch.until_ms is not None and switch.until_ms <= now_ms
        is_wanted = switch.is_on and not is_over and shop.settings.awake.enabled
        if is_wanted != self._is_wanted:
            self._follow(self._keeper, shop, is_wanted=is_wanted)
        elif self._ask_ms is not None and _is_due(self._ask_ms, now_ms):
            if self._is_kept == is_wanted:
                self._tell(self._keeper, shop)
            else:
                self._follow(self._keeper, shop, is_wanted=is_wanted)
        elif is_wanted and self._ask_ms is None and _is_due(self._look_ms, now_ms):
            self._look(self._keeper, shop)
        if self._owes_forgetting:
            nights.forget_lock(shop.store, NIGHT)
            self._owes_forgetting = False
        ahead = [moment for moment in (self._ask_ms, switch.until_ms if is_wanted else None) if moment]
        return min(ahead, default=None)

    def close(self) -> None:
        """Let the machine sleep: nobody would end it after us. A refusal is no answer to rest on."""
        if self._keeper is not None and self._is_wanted is not None and self._is_kept is not False:
            _keep(self._keeper, is_wanted=False)

    def _follow(self, keeper: Wakeful, shop: Shop, *, is_wanted: bool) -> None:
        """Ask for what is wanted; once more a little later where it was refused.

        Nothing is written before it is asked: a disk that is full keeps no machine awake.
        """
        refusal = _keep(keeper, is_wanted=is_wanted)
        self._is_wanted, self._owes_forgetting = is_wanted, not is_wanted
        self._is_kept = is_wanted if refusal is None else None
        self._ask_ms = shop.now_ms() + _SETTLED_MS if is_wanted or refusal is not None else None
        if is_wanted and refusal is not None:
            nights.note_lock(shop.store, NIGHT, kind="none", warning=refusal.code, detail=refusal.what)

    def _look(self, keeper: Wakeful, shop: Shop) -> None:
        """See whether it is still held, and holds off what is wanted now; what was held once is taken again.

        What the system refused from the start is not asked for again, and told where somebody gave it.
        """
        is_held = keeper.is_awake()
        if self._is_held and not is_held:
            logger("daemon").warning(Event.AWAKE_LOST, key=NIGHT, kind=keeper.init)
            self._follow(keeper, shop, is_wanted=True)
        elif isinstance(keeper, OwnLock | ServiceAndLid) and keeper.is_outdated():
            self._follow(keeper, shop, is_wanted=True)
        elif is_held and not self._is_held:
            self._tell(keeper, shop)
        else:
            self._look_ms = _next_look(keeper, shop)

    def _tell(self, keeper: Wakeful, shop: Shop) -> None:
        """Say in the log, and where `status` and the digest read it, whether the machine is kept awake."""
        log = logger("daemon")
        self._is_held = keeper.is_awake()
        kind, (reason, detail) = keeper.init if self._is_held else "none", _lack(keeper)
        if self._is_held:
            log.info(Event.AWAKE_HELD, key=NIGHT, kind=kind)
        else:
            reason = reason or "awake-not-given"
        if reason:
            log.warning(Event.AWAKE_UNAVAILABLE, key=NIGHT, reason=reason, detail=detail)
        nights.note_lock(shop.store, NIGHT, kind=kind, warning=reason, detail=detail)
        self._ask_ms, self._look_ms = None, _next_look(keeper, shop)

    def _forget_unasked(self, shop: Shop) -> None:
        """A lock that the configuration does not ask for any more is none that is missing."""
        is_asked = shop.settings.awake.enabled
        if not is_asked and self._is_asked:
            for name in (NIGHT, RUN):
                nights.forget_lock(shop.store, name)
        self._is_asked = is_asked


def _keep(keeper: Wakeful, *, is_wanted: bool) -> AutopilotError | None:
    """Ask for it; gives the refusal."""
    try:
        keeper.keep_awake(is_wanted=is_wanted)
    except AutopilotError as error:
        logger("daemon").warning(Event.AWAKE_UNAVAILABLE, key=NIGHT, reason=error.code, detail=error.what)
        return error
    return None


def _is_due(at_ms: int, now_ms: int) -> bool:
    """Tell whether it is time to look; a clock that was set back must not put that off."""
    return not 0 < at_ms - now_ms <= _ASK_MS


def _lack(keeper: Wakeful) -> tuple[str, str]:
    if isinstance(keeper, OwnLock | ServiceAndLid):
        return keeper.lack
    return "", ""


def _next_look(keeper: Wakeful, shop: Shop) -> int:
    return shop.now_ms() + (_LOOK_MS if isinstance(keeper, OwnLock) else _ASK_MS)
