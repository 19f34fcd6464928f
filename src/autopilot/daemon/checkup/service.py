"""The installed service: whether it keeps this queue, and sees what agents sign in with.

Must not change anything, and must not look at a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config import environ, handed
from autopilot.daemon import keeping
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.checkup.configured import used_agents
from autopilot.launchd import keeper
from autopilot.runner.agents.registry import sign_in_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings
    from autopilot.launchd.keeper import Keeper
    from autopilot.schemas.checkup import Check


def service(settings: Settings, paths: Paths, clock: Clock) -> Iterator[Check]:
    """Look at the service of this folder; where none is installed, say what comes of that.

    Raises:
        ConfigError: what was handed to it cannot be used.
    """
    init = keeper.find(clock)
    if keeping.installed_home(init) is None:
        yield warning("service", "none: nobody starts the daemon after a reboot", "autopilot install")
        return
    if keeping.installed_home(init) != keeping.our_home():
        yield warning("service", "it keeps another folder's queue", "autopilot service status tells which")
        return
    refusal = init.refusal()
    if refusal:
        yield warning("service", refusal, "autopilot on starts a daemon without it")
        return
    yield ok("service", f"{init.init}: {init.standing().state}")
    if init.init == "systemd" and not init.is_lingering():
        yield warning("linger", "the service ends with your last log-out", "autopilot install --linger")
    known = handed.read(handed.file_beside(paths.config_file))
    for name in used_agents(settings):
        wanted = sign_in_variables(settings.agent(name))
        if wanted and not any(variable in known or init.knows(variable) for variable in wanted):
            yield _unseen(name, wanted, init)


def _unseen(agent: str, wanted: tuple[str, ...], init: Keeper) -> Check:
    """Name the variable that is set here, and by which the service would sign in too."""
    here = [name for name in wanted if environ.current().get(name)]
    what = f"{init.init} starts the daemon without any of {', '.join(wanted)}: a terminal's do not reach it"
    return blocked(f"agent {agent} in the service", what, f"autopilot install --pass {(*here, wanted[0])[0]}")
