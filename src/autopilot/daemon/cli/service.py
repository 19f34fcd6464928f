"""`autopilot service status`: how the installed service is, and whether this program would make it so."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.launchd.keeper import Keeper


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two acts."""
    parser.add_argument(
        "act",
        choices=["status", "gave-up"],
        help="tell how the service is; or, called by the init system, note that it starts the daemon no more",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Tell; exit code 3 when something is to be mended."""
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import find_paths
    from autopilot.launchd import keeper

    paths, clock = find_paths(), SystemClock()
    init = keeper.find(clock)
    if args.act == "gave-up":
        return _note_given_up(paths, init, clock)
    view = look(paths, init)
    if args.json:
        console.say_json(view)
    else:
        _print(view)
    return ExitCode.REFUSED if view["notes"] else ExitCode.OK


def look(paths: Paths, init: Keeper) -> dict[str, Any]:
    """Give everything that is known of the service."""
    from autopilot.daemon import keeping, starts
    from autopilot.daemon.version import program_version
    from autopilot.launchd import files

    home = keeping.installed_home(init)
    refusal = init.refusal()
    failed = starts.failed_starts(paths)
    view: dict[str, Any] = {
        "init": init.init,
        "unreachable": refusal,
        "files": [str(path) for path in files.ours(init, init.names)],
        "home": home,
        "service": None if refusal else asdict(init.standing()),
        "lingers": init.is_lingering(),
        "version": program_version(),
        "daemon": _daemon(paths),
        "failed_starts": None if failed is None else failed.model_dump(mode="json"),
    }
    return {**view, "notes": list(_notes(view, paths, init))}


def _daemon(paths: Paths) -> dict[str, Any] | None:
    from autopilot.daemon.api import client

    try:
        health = client.call(paths.control_socket, "GET", "/v1/health")
    except client.DaemonAwayError:
        return None
    return {name: health[name] for name in ("pid", "version")}


def _notes(view: Mapping[str, Any], paths: Paths, init: Keeper) -> Iterator[str]:
    """Name what is to be mended, each with its command."""
    from autopilot.daemon import keeping

    if view["unreachable"]:
        yield view["unreachable"]
    if view["home"] is None:
        yield "no service is installed → autopilot install"
        return
    if view["home"] != keeping.our_home():
        yield f"the service keeps the queue of {view['home'] or 'the default folder'}, not this one's"
        return
    if _differs(paths, init):
        yield "its files are not those that this program and configuration make → autopilot install"
    daemon, service = view["daemon"], view["service"]
    if daemon is not None and daemon["version"] != view["version"]:
        yield (
            f"the daemon that runs is version {daemon['version']}, installed is {view['version']}"
            " → autopilot daemon stop; autopilot on"
        )
    if daemon is not None and service is not None and service["pid"] not in {0, daemon["pid"]}:
        yield f"the daemon that answers (pid {daemon['pid']}) is not the service's"
    if daemon is not None and service is not None and not service["pid"]:
        yield "a daemon runs beside the service → autopilot daemon stop; autopilot on"
    if service is not None and not service["is_enabled"]:
        yield "it does not come up by itself → autopilot install"
    if view["failed_starts"] is not None:
        failed = view["failed_starts"]
        yield f"it failed to start {failed['count']} times, the last time because: {failed['reason']}"


def _differs(paths: Paths, init: Keeper) -> bool:
    from autopilot.config.load import load
    from autopilot.daemon import installing
    from autopilot.launchd import files

    planned = files.plan(init, init.files(installing.service_of(paths, load(paths))))
    present = set(files.ours(init, init.names))
    return any(file.act != "same" for file in planned) or present != {file.path for file in planned}


def _note_given_up(paths: Paths, init: Keeper, clock: Clock) -> ExitCode:
    from autopilot.config import logs
    from autopilot.config.load import load
    from autopilot.config.logs import logger
    from autopilot.daemon import starts
    from autopilot.schemas.events import Event

    if door.is_daemon_up():
        return ExitCode.OK  # another one than the service's, which is why it would not start
    standing = init.standing()
    noted = starts.given_up(
        paths.ensure(), clock, how=standing.result or standing.state, restarts=standing.restarts
    )
    with logs.setup(paths.logs, clock=clock, stderr=True, **load(paths).logs.model_dump()):
        logger("daemon").error(Event.DAEMON_GIVEN_UP, starts=noted.count, why=noted.reason, hint=noted.hint)
    return ExitCode.OK


def _print(view: Mapping[str, Any]) -> None:
    service, daemon = view["service"], view["daemon"]
    for path in view["files"]:
        console.say(f"file       {path}")
    if service is not None:
        told = f", pid {service['pid']}" if service["pid"] else ""
        again = f", started again {service['restarts']} times" if service["restarts"] else ""
        last = f", last end: {service['result']}" if service["result"] else ""
        console.say(f"service    {view['init']}: {service['state']}{told}{again}{last}")
        if view["files"]:
            console.say(f"starts     {'by itself' if service['is_enabled'] else 'only when told to'}")
    if view["init"] == "systemd" and view["files"]:
        end = "goes on after the last log-out" if view["lingers"] else "ends with the last log-out"
        console.say(f"log-out    {end}")
    runs = "none runs" if daemon is None else f"version {daemon['version']} runs as pid {daemon['pid']}"
    console.say(f"daemon     {runs}; this program is version {view['version']}")
    for note in view["notes"]:
        console.say(f"! {console.line(note)}")
