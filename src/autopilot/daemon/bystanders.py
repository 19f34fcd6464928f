"""Runs and publications that outlived their daemon: no other queue is put in place beside them.

Must not end anybody: they end by themselves once nobody renews their lease, and a person may be asked first.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from autopilot.daemon import emergency
from autopilot.schemas.errors import RefusedError

if TYPE_CHECKING:
    from autopilot.config.paths import Paths

_LOOKS, _LOOK_AGAIN_S = 50, 0.1
_SHOWN = 3


def refuse_beside_living(paths: Paths) -> None:
    """Wait a moment for processes of ours to end; the caller holds the daemon's lock, so none are started.

    Raises:
        RefusedError: `runs-alive`.
        OSError: we have no descriptor or memory left to look with.
    """
    pause = threading.Event()
    for _ in range(_LOOKS):
        found = emergency.living(paths)
        if not found:
            return
        pause.wait(_LOOK_AGAIN_S)
    names = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    what = f"processes still work for this queue: {names}"
    hint = "wait until their lease ends ([daemon] lease_s), or kill them: autopilot stop --all"
    raise RefusedError("runs-alive", what, hint=hint)
