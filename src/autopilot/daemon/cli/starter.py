"""Starts the daemon when none listens, by its service or else beside this terminal; and stops it."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from autopilot.config.paths import find_paths
from autopilot.daemon.api import client
from autopilot.schemas.errors import AutopilotError, ExitCode, TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.proc import Child, ProcessId
    from autopilot.launchd.keeper import Keeper

WAIT_S = 30.0
POLL_S = 0.05
GRACE_S = 2.0
_SLOW_LOOK = 1 / 20
"""A look counts so little while the daemon says that it is checking: ten minutes in all."""


def ensure_daemon() -> str:
    """Make sure that a daemon listens and stays; say who started it now: `terminal` or an init system.

    Raises:
        TransientError: it was started but did not come up, or an earlier one is still on its way out.
    """
    paths = find_paths()
    if _is_up(paths):
        return ""
    from autopilot.config import environ
    from autopilot.config.clock import SystemClock
    from autopilot.daemon import keeping

    clock = SystemClock()
    init = keeping.installed(clock)
    if init is None:
        start_daemon(paths, environ.current(), clock)
        return "terminal"
    _start_service(init, paths)
    return init.init


def _start_service(init: Keeper, paths: Paths) -> None:
    from autopilot.daemon import keeping
    from autopilot.daemon.starts import failed_starts

    keeping.start(init)
    if not _wait(paths, lambda: bool(keeping.has_failed(init))):
        failed = failed_starts(paths)
        said = failed.reason if failed is not None else f"{init.init} says: {keeping.has_failed(init)}"
        raise _not_up(said, "autopilot service status")


def _is_up(paths: Paths) -> bool:
    """Tell whether a daemon listens and stays; one that drains does not, so its end is awaited.

    Nor does one in whose place another version lies: it does nothing more, and is ended.
    """
    pause = Event()
    for _ in range(round(WAIT_S / POLL_S)):
        try:
            health = client.call(paths.control_socket, "GET", "/v1/health")
        except client.DaemonAwayError:
            return False
        is_replaced, is_draining = health.get("is_replaced"), health["is_draining"]
        if is_replaced and not is_draining:
            stop_daemon(paths)
            return False
        if is_replaced:  # asked a second time, an older one ends what runs; now it looks, and goes
            client.nudge(paths.control_socket)
        elif not is_draining:
            return True
        pause.wait(POLL_S)
    raise TransientError(
        "daemon-draining",
        "the daemon is stopping: it waits for running tickets and launches nothing",
        hint="when it is gone (autopilot status), repeat the command",
    )


def start_daemon(paths: Paths, env: Mapping[str, str], clock: Clock) -> Child:
    """Start a daemon whose home `env` names, and wait until it answers; who is interrupted leaves none.

    Give the child to `poll` if we outlive it.

    Raises:
        TransientError: it did not come up; names its log.
    """
    from autopilot.config import proc

    log = paths.ensure().logs / "daemon.out"
    argv = [sys.executable, "-P", "-m", "autopilot.daemon.cli", "daemon", "run"]
    child = proc.spawn(argv, cwd=paths.state, env=_anywhere(env), output=log)
    try:
        # Refused, it found another in its place that somebody has just started: that one is awaited.
        is_up = _wait(paths, lambda: child.poll() not in {None, ExitCode.REFUSED})
    except BaseException:
        proc.kill_tree(child.id, grace_s=GRACE_S, clock=clock)
        raise
    if not is_up:
        proc.kill_tree(child.id, grace_s=GRACE_S, clock=clock)
        tail = log.read_text(encoding="utf-8", errors="replace")[-1000:] if log.exists() else ""
        raise _not_up(tail, f"its log is {log}")
    return child


def _anywhere(env: Mapping[str, str]) -> dict[str, str]:
    """Make the home absolute: the daemon stands in another folder than we do."""
    home = env.get("AUTOPILOT_HOME")
    return {**env, "AUTOPILOT_HOME": str(Path(home).expanduser().absolute())} if home else dict(env)


def _wait(paths: Paths, has_ended: Callable[[], bool]) -> bool:
    """Wait until it answers; False where it ended before, or took too long."""
    pause, looks = Event(), WAIT_S / POLL_S
    while looks > 0:
        pause.wait(POLL_S)
        try:
            health = client.call(paths.control_socket, "GET", "/v1/health")
        except AutopilotError:
            looks = 0 if has_ended() else looks - 1
            continue
        if health["status"] == "ok":
            return True
        looks -= _SLOW_LOOK  # it lives, and reads a large database
    return False


def _not_up(said: str, hint: str) -> TransientError:
    what = f"the daemon did not come up: {said.strip() or 'it said nothing'}"
    return TransientError("daemon-not-up", what, hint=hint)


def stop_daemon(paths: Paths) -> bool:
    """Send the daemon SIGTERM and wait until it is gone; say whether one ran.

    Raises:
        TransientError: it is still there after the wait; it is draining.
    """
    import os
    import signal

    identity = _running(paths)
    if identity is None:
        return False
    with suppress(ProcessLookupError):  # it may end by itself in between
        os.kill(identity.pid, signal.SIGTERM)
    if _is_gone(identity):
        return True
    hint = "autopilot status --watch; autopilot off --now stops what runs"
    raise TransientError("daemon-draining", "the daemon waits for running tickets", hint=hint)


def end_daemon(paths: Paths, clock: Clock) -> None:
    """Stop the daemon, and when it does not go in time, kill it with everything that it started."""
    from autopilot.config import proc

    identity = _running(paths)
    if identity is None:
        return
    try:
        stop_daemon(paths)
    except TransientError:
        proc.kill_tree(identity, grace_s=GRACE_S, clock=clock)


def _running(paths: Paths) -> ProcessId | None:
    from autopilot.config import proc

    try:
        health = client.call(paths.control_socket, "GET", "/v1/health")
    except client.DaemonAwayError:
        return None
    return proc.identity_of(health["pid"])


def _is_gone(identity: ProcessId) -> bool:
    from autopilot.config import proc

    pause = Event()
    for _ in range(round(WAIT_S / POLL_S)):
        if not proc.is_alive(identity):
            return True
        pause.wait(POLL_S)
    return False
