"""Who starts the agents tonight, and what environment they will come from.

A daemon that runs already keeps the environment that it was started with, and a service's has what was handed
to it beside that, which no table of processes shows; an installed service has the one of its file; else it is
ours. Must not show a value to anybody, or change anything.
"""

from __future__ import annotations

import plistlib
from typing import TYPE_CHECKING

import psutil

from autopilot.config import environ, handed
from autopilot.daemon import keeping
from autopilot.daemon.api import client
from autopilot.daemon.checkup.scene import Runner
from autopilot.launchd import files, keeper, systemd_units
from autopilot.launchd.service import MARK, SYSTEMD
from autopilot.schemas.errors import AutopilotError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.launchd.keeper import Keeper

_TOLD = ("PATH", "HOME", "TZ", "LANG")


def find(paths: Paths, clock: Clock) -> Runner:
    """Find out; what cannot be asked is ours."""
    return _running(paths) or _installed(paths, clock) or ours()


def ours() -> Runner:
    """Give ourselves: the daemon that this command, or this process, would be."""
    return Runner(who="this terminal", environment=environ.current(), is_us=True)


def _running(paths: Paths) -> Runner | None:
    try:
        health = client.call(paths.control_socket, "GET", "/v1/health")
        environment = psutil.Process(int(health["pid"])).environ()
    except (AutopilotError, psutil.Error, OSError, KeyError, ValueError):
        return None
    if environment.get(MARK):
        environment = {**_handed(paths), **environment}
    return Runner(who=f"the daemon (pid {health['pid']})", environment=environment)


def _handed(paths: Paths) -> Mapping[str, str]:
    try:
        return handed.read(handed.file_beside(paths.config_file))
    except ConfigError:
        return {}  # the lines of the service say so


def _installed(paths: Paths, clock: Clock) -> Runner | None:
    init = keeper.find(clock)
    try:
        if keeping.installed_home(init) != keeping.our_home() or init.refusal():
            return None
        content = files.read(keeping.daemon_file(init)) or b""
        given = handed.read(handed.file_beside(paths.config_file))
    except (AutopilotError, OSError):
        return None  # the lines of the service say so
    environment = {**given, **_of_file(init, content)}
    return Runner(who=f"the service ({init.init})", environment=environment, is_service=True)


def _of_file(init: Keeper, content: bytes) -> Mapping[str, str]:
    """Read what the service's file sets, by the names that matter here."""
    if init.init == SYSTEMD:
        text = content.decode(errors="replace")
        found = {name: systemd_units.variable_of(text, name) for name in _TOLD}
        return {name: value for name, value in found.items() if value}
    try:
        told = plistlib.loads(content).get("EnvironmentVariables", {})
    except (plistlib.InvalidFileException, ValueError, AttributeError):
        return {}
    return {str(name): str(value) for name, value in told.items()}
