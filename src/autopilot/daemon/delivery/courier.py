"""Whether anything goes out at all; who has no channel, and has had none, needs nothing of what sends.

Must not send anything: `rounds.py` has it done. Source: docs/decisions/0166.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.store import queries_host

if TYPE_CHECKING:
    from autopilot.daemon.delivery.rounds import Rounds
    from autopilot.daemon.shop import Shop
    from autopilot.daemon.supervisor import Supervisor


class Courier:
    """Asked on every tick; begins its rounds once there is something to send, or was when a daemon ended."""

    def __init__(self, supervisor: Supervisor) -> None:
        """Take who watches these children alone: no draining daemon waits for them."""
        self._supervisor = supervisor
        self._owes_look = True
        self._rounds: Rounds | None = None

    def __call__(self, shop: Shop) -> int | None:
        """Do what is due; give when to look again (UTC epoch ms)."""
        if self._rounds is None:
            if not (_may_send(shop) or (self._owes_look and _has_unsent(shop))):
                self._owes_look = False
                return None
            from autopilot.daemon.delivery.rounds import Rounds  # noqa: PLC0415 - most send nothing

            self._rounds = Rounds(self._supervisor)
        return self._rounds(shop)

    def close(self) -> None:
        """End what is under way: its mark tells the next daemon how far it came."""
        if self._rounds is not None:
            self._rounds.close()


def _may_send(shop: Shop) -> bool:
    settings = shop.settings
    return bool(settings.report_channels) or settings.report_issue_updates


def _has_unsent(shop: Shop) -> bool:
    with shop.store.read() as conn:
        return queries_host.has_unsent(conn)
