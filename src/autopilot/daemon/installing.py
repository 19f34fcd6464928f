"""From this installation to its service: which program, which PATH, which folders, how long a stop takes.

Must not write anything: it finds the facts, `launchd` writes what follows from them.
"""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ
from autopilot.daemon.version import own_code
from autopilot.daemon.watch import STOP_MARGIN_S
from autopilot.launchd.service import STOP_MARGIN_S as MANAGERS_MARGIN_S
from autopilot.launchd.service import Service
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings

# They move our folders: a service that did not know them would keep another queue than the terminal.
_PLACES = ("AUTOPILOT_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
_FOREVER_LINUX = "infinity"


def service_of(paths: Paths, settings: Settings, *, platform: str = sys.platform) -> Service:
    """Describe the service of this installation.

    Raises:
        ConfigError: a path holds a character that no unit can carry.
    """
    ours = environ.current()
    program = (sys.executable, "-P", "-m", "autopilot.daemon.cli")
    made = Service(
        program=program,
        path=environ.search_path(ours),
        home=Path(ours.get("HOME") or Path.home()),
        stop_s=stop_s(settings),
        logs=paths.logs,
        keep_awake=_keep_awake(environ.search_path(ours), platform, has_display=settings.awake.display),
        variables={**_places(ours), **own_code()},
    )
    for text in (*program, made.path, str(made.home), str(made.logs), *made.variables.values()):
        if not text.isprintable():
            what = f"the path {text!r} holds a character that a service file cannot carry"
            raise ConfigError("service-path", what, hint="install autopilot in another folder")
    return made


def stop_s(settings: Settings) -> int:
    """Give the seconds that a stop may take: the drain, what is killed then, and a margin."""
    grace_s = settings.timeouts.kill_grace_s + STOP_MARGIN_S
    return math.ceil(settings.daemon.drain_s + grace_s + MANAGERS_MARGIN_S)


def _places(ours: Mapping[str, str]) -> dict[str, str]:
    given = {name: ours[name] for name in _PLACES if ours.get(name)}
    return {name: str(Path(value).expanduser().absolute()) for name, value in given.items()}


def _keep_awake(path: str, platform: str, *, has_display: bool) -> tuple[str, ...]:
    """Give the program that keeps the machine awake for as long as it runs.

    Source: caffeinate(8): `-s` system sleep on mains power, `-i` idle sleep, `-d` the display;
    systemd-inhibit(1).
    """
    if platform == "darwin":
        return ("/usr/bin/caffeinate", "-s", "-i", *(("-d",) if has_display else ()))
    inhibit, sleep = shutil.which("systemd-inhibit", path=path), shutil.which("sleep", path=path)
    if inhibit is None or sleep is None:
        return ()
    options = ("--what=sleep:idle", "--mode=block", "--who=autopilot", "--why=the night shift is on")
    return (inhibit, *options, sleep, _FOREVER_LINUX)
