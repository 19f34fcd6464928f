"""Keeps small, on every tick, what would grow beside the queue: its write-ahead log, and printed output.

Must not wait for anybody: a reader that holds an old snapshot is passed by, and told of.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.config.paths import CLEAN_UP_OUTPUT_FILE
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.shop import Shop

MIB = 1024 * 1024
FOLD_IN_BYTES = 8 * MIB
"""From here on the log is folded into the database on every tick, as far as readers allow."""
CUT_IDLE_BYTES = MIB
CUT_ALWAYS_BYTES = 64 * MIB
TELL_BYTES = 256 * MIB
CUT_EVERY_MS = 60 * MS_PER_S
OUTPUT_FILE = "daemon.out"
_KEPT_TAIL_BYTES = 64 * 1024


class Upkeep:
    """Knows when it last cut the log, and whether it told of one that cannot be cut."""

    def __init__(self) -> None:
        """Begin as if it had just been cut: a start has other things to do."""
        self._cut_ms: int | None = None
        self._is_told = False

    def __call__(self, shop: Shop) -> None:
        """Look at all of them, and do what is due."""
        self._mind_log(shop)
        limit_bytes = shop.settings.logs.max_size_mib * MIB
        for name in (OUTPUT_FILE, CLEAN_UP_OUTPUT_FILE):
            trim(shop.paths.logs / name, limit_bytes=limit_bytes)

    def _mind_log(self, shop: Shop) -> None:
        size_bytes, now_ms = shop.store.log_bytes(), shop.now_ms()
        if self._cut_ms is None or not self._cut_ms <= now_ms:
            self._cut_ms = now_ms
        is_due = now_ms >= self._cut_ms + CUT_EVERY_MS
        is_large = size_bytes > CUT_ALWAYS_BYTES
        if is_due and (is_large or (size_bytes > CUT_IDLE_BYTES and shop.supervisor.is_idle)):
            self._cut_ms = now_ms
            shop.store.checkpoint(cut=True)
        elif size_bytes > FOLD_IN_BYTES:
            shop.store.checkpoint(cut=False)
        self._tell(size_bytes)

    def _tell(self, size_bytes: int) -> None:
        if size_bytes > TELL_BYTES and not self._is_told:
            hint = "autopilot doctor names who has the database open"
            logger("daemon").warning(Event.STORE_WAL_GREW, size_bytes=size_bytes, hint=hint)
        self._is_told = size_bytes > TELL_BYTES


def trim(path: Path, *, limit_bytes: int) -> None:
    """Empty a file that others append to once it is too large; its end is kept beside it."""
    try:
        if path.stat().st_size <= limit_bytes:
            return
        with path.open("r+b") as file:
            file.seek(-min(_KEPT_TAIL_BYTES, limit_bytes), os.SEEK_END)
            tail = file.read()
            file.truncate(0)
        path.with_name(f"{path.name}.1").write_bytes(tail)
    except OSError:
        return  # it is looked at again on the next tick
