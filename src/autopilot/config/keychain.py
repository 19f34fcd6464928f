"""Asks the macOS keychain whether an item is there and whether it is open, without reading it.

By the system's own program: looking an item up by its attributes opens nothing and asks nobody. Must not be
given an option that prints a value. A closed keychain may show a dialog, which nobody answers at night: who
waits for one is locked. Source: security(1), `find-generic-password`, `show-keychain-info`; SecBase.h:
errSecItemNotFound is 44 as an exit code, errSecInteractionNotAllowed 36.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autopilot.config import environ, proc

if TYPE_CHECKING:
    from autopilot.config.clock import Clock

Standing = Literal["readable", "missing", "locked", "no-backend"]

_PROGRAM = "security"
_NOT_FOUND = 44
_ASKED_S = 5.0


def status(service: str, name: str, clock: Clock) -> Standing:
    """Tell how an item stands, by its service and account."""
    found = _said(("find-generic-password", "-s", service, "-a", name), clock)
    if found.spawn_error:
        return "no-backend"
    if found.code == _NOT_FOUND:
        return "missing"
    if not found.ok:
        return "locked"
    return "readable" if _said(("show-keychain-info",), clock).ok else "locked"


def _said(words: tuple[str, ...], clock: Clock) -> proc.Exit:
    ours = environ.current()
    with tempfile.TemporaryDirectory(prefix="autopilot-asked-") as folder:
        return proc.run(
            (_PROGRAM, *words),
            cwd=Path(folder),
            env={"PATH": environ.search_path(ours), "HOME": ours.get("HOME", folder), "LANG": "C.UTF-8"},
            output=Path(folder) / "output",
            clock=clock,
            wall_s=_ASKED_S,
            grace_s=1.0,
        )
