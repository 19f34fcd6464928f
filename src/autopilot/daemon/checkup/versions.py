"""Which autopilots are installed, and whether the one that is typed is the one that runs.

Must not start a program that it finds: what lies on PATH is told by its place alone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ
from autopilot.daemon import installing, keeping
from autopilot.daemon.api import client
from autopilot.daemon.checkup.check import ok, warning
from autopilot.daemon.version import program_version
from autopilot.launchd import files, keeper
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check

_NAME = "autopilot"
_TWICE = 2


def versions(paths: Paths, clock: Clock) -> Iterator[Check]:
    """Compare this program with the daemon that runs, the installed service, and others on PATH."""
    mine = program_version()
    yield _daemon(paths, mine)
    yield from _service(clock)
    found = on_path(environ.current().get("PATH", ""))
    if len(found) >= _TWICE:
        what = f"{len(found)} are on PATH: {', '.join(map(str, found))}; {found[0]} is what you type"
        yield warning("installations", what, "uninstall all but one")
    else:
        yield ok("installations", f"version {mine}, {sys.prefix}")


def units(scene: Scene) -> Iterator[Check]:
    """Compare the installed service's files with those that this program and configuration would write."""
    init = keeper.find(scene.clock)
    if keeping.installed_home(init) != keeping.our_home():
        return  # there is none, or it is another folder's, which its own line says
    wanted = installing.service_of(scene.paths, scene.settings)
    planned = files.plan(init, init.files(wanted))
    present = set(files.ours(init, init.names))
    differing = sorted(file.path.name for file in planned if file.act != "same")
    differing += sorted(path.name for path in present - {file.path for file in planned})
    if differing:
        what = f"not as this program and configuration make them: {', '.join(differing)}"
        yield warning("units", what, "autopilot install")
    else:
        yield ok("units", f"{len(planned)} files in {init.folder} are as they should be")


def on_path(path: str) -> tuple[Path, ...]:
    """Give the different programs of our name on a PATH, in its order; links to one are one."""
    places = [Path(entry) / _NAME for entry in path.split(os.pathsep) if entry.startswith("/")]
    there = [place for place in places if place.is_file() and os.access(place, os.X_OK)]
    first: dict[Path, Path] = {}
    for place in there:
        first.setdefault(place.resolve(), place)
    return tuple(first.values())


def _daemon(paths: Paths, mine: str) -> Check:
    try:
        health = client.call(paths.control_socket, "GET", "/v1/health")
    except AutopilotError:
        return ok("version", mine)
    if health["version"] == mine:
        return ok("version", f"{mine}, and so is the daemon that runs")
    what = f"the daemon that runs is version {health['version']}, this program is {mine}"
    return warning("version", what, "autopilot daemon stop; autopilot on")


def _service(clock: Clock) -> Iterator[Check]:
    """Look whether the installed service starts the interpreter that runs us."""
    init = keeper.find(clock)
    content = files.read(keeping.daemon_file(init))
    if content is None or not init.is_ours(content):
        return
    if sys.executable.encode() not in content:
        what = f"the service starts another installation than this one ({sys.executable})"
        yield warning("service program", what, "autopilot install, by the installation that is to have it")
