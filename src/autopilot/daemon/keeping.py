"""The installed service of this state folder, if there is one: found, and started.

Must not use a service that keeps another folder's queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config import environ
from autopilot.config.paths import find_paths
from autopilot.daemon import starts
from autopilot.launchd import files, keeper

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.launchd.keeper import Keeper


def our_home() -> str:
    """Give AUTOPILOT_HOME as a service would be told it; empty for the default places."""
    if not environ.current().get("AUTOPILOT_HOME"):
        return ""
    return str(find_paths().state.parent)


def daemon_file(init: Keeper) -> Path:
    """Name the file that makes the daemon a service."""
    return init.folder / init.daemon_file


def installed_home(init: Keeper) -> str | None:
    """Give the AUTOPILOT_HOME of the installed service; None where there is none of ours."""
    content = files.read(daemon_file(init))
    return init.home_of(content) if content is not None and init.is_ours(content) else None


def installed(clock: Clock) -> Keeper | None:
    """Give who keeps our daemon; None where no service of this folder is installed, or none can be asked."""
    init = keeper.find(clock)
    if installed_home(init) != our_home() or init.refusal():
        return None
    return init


def start(init: Keeper) -> None:
    """Have the daemon started; failed starts count anew, for a person asks.

    Raises:
        RefusedError: the init system would not.
    """
    starts.is_up(find_paths())
    init.start()


def has_failed(init: Keeper) -> str:
    """Say how a start came to nothing; empty while it may still come up."""
    standing = init.standing()
    is_over = standing.state.startswith(("failed", "absent")) or "auto-restart" in standing.state
    return (standing.result or standing.state) if is_over else ""
