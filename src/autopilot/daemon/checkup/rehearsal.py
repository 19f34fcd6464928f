"""One scripted ticket through the whole machine: a daemon, a run, its gates, a commit, a publication.

In a folder of its own below the state folder, with a repository, a remote and an agent of its own: the
operator's queue, repositories and accounts are never touched, and nothing is left. A good one is remembered
for this version of the program and this sandbox. Must not leave a process behind, however it ends.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autopilot.config import environ
from autopilot.config.layers import ENVIRONMENT_PREFIX
from autopilot.config.paths import paths_below
from autopilot.config.removal import remove_tree
from autopilot.daemon.api import client
from autopilot.daemon.checkup import remembered
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.cli import starter
from autopilot.daemon.demo import stage
from autopilot.daemon.version import own_code, program_version
from autopilot.schemas.errors import AutopilotError, RefusedError
from autopilot.schemas.machine import MOVING_STATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.daemon.demo.stage import Stage
    from autopilot.schemas.checkup import Check

NAME = "rehearsal"
_POLL_S = 0.2
_GOAL = "published"
_TICKET: Mapping[str, str] = {"title": "Round discounted prices to the nearest cent", "agent": "demo-honest"}


def rehearsal(scene: Scene, limit: Limit) -> Iterator[Check]:
    """Play it, unless a good one is remembered."""
    about = f"{program_version()} {scene.settings.sandbox.kind}"
    if known := remembered.recall(scene, NAME, about=about):
        yield from known
        return
    yield from remembered.keep(scene, NAME, (played(scene, limit),), about=about)


def played(scene: Scene, limit: Limit) -> Check:
    """Play it now."""
    home = remembered.place(scene) / NAME
    begun_s = scene.clock.monotonic_s()
    try:
        with stage.claimed(home), _cleared(home, scene):
            built = stage.build(home, scene.clock, sandbox=scene.settings.sandbox.kind)
            ticket = _night(built, scene, limit)
    except RefusedError as error:
        return warning(NAME, error.what, "wait until the other one has ended")
    took_s = scene.clock.monotonic_s() - begun_s
    if ticket is None:
        what = f"one scripted ticket did not come to its end within {took_s:.0f} s"
        return blocked(NAME, what, "autopilot demo shows where it stops")
    if ticket["state"] == _GOAL:
        return ok(NAME, f"one scripted ticket went from the queue to a draft in {took_s:.0f} s")
    what = f"one scripted ticket ended as {ticket['state']}: {ticket['reason'] or 'without a reason'}"
    return blocked(NAME, what, ticket["hint"] or "autopilot demo shows where it stops")


@contextmanager
def _cleared(home: Path, scene: Scene) -> Iterator[None]:
    """Leave nothing of this one, nor of an earlier one that was killed."""
    starter.end_daemon(paths_below(home), scene.clock)
    try:
        yield
    finally:
        starter.end_daemon(paths_below(home), scene.clock)
        for left in home.iterdir():
            if left.name != stage.MARK:
                remove_tree(left)


def _night(built: Stage, scene: Scene, limit: Limit) -> dict[str, Any] | None:
    """Queue the ticket at a daemon of its own, turn on, and wait; None where it took too long.

    Raises:
        AutopilotError: the daemon did not come up, or would not take the ticket.
    """
    paths = paths_below(built.home)
    child = starter.start_daemon(paths, _environment(built, scene.runner.surroundings), scene.clock)
    try:
        return _watched(paths, scene, limit)
    finally:
        starter.end_daemon(paths, scene.clock)
        child.poll()


def _watched(paths: Paths, scene: Scene, limit: Limit) -> dict[str, Any] | None:
    name = str(_call(paths, "POST", "/v1/tickets", **_TICKET)["ticket"]["id"])
    _call(paths, "POST", "/v1/switch", on=True, ignore_window=True)
    pause = threading.Event()
    while not limit.should_stop() and scene.clock.monotonic_s() < limit.until_s:
        ticket: dict[str, Any] = _call(paths, "GET", f"/v1/tickets/{name}")["ticket"]
        if ticket["state"] not in MOVING_STATES:
            return ticket
        pause.wait(_POLL_S)
    return None


def _call(paths: Paths, method: str, path: str, **body: object) -> dict[str, Any]:
    try:
        return client.call(paths.control_socket, method, path, body)
    except client.DaemonAwayError as exc:
        raise AutopilotError("rehearsal-stopped", "the daemon of the rehearsal went away") from exc


def _environment(built: Stage, given: Mapping[str, str]) -> dict[str, str]:
    """Give the daemon's environment: the given, without what would configure autopilot or tell a secret."""
    base = {
        name: value
        for name, value in given.items()
        if not name.startswith(ENVIRONMENT_PREFIX) and environ.refusal(name, value) is None
    }
    path = f"{built.programs}:{environ.search_path(given)}"
    home = given.get("HOME", str(built.home))
    return {**base, **own_code(), "PATH": path, "HOME": home, "AUTOPILOT_HOME": str(built.home)}
