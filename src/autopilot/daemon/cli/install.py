"""`autopilot install`: make the daemon a service of this user, which comes up by itself after a crash too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door
from autopilot.schemas.errors import ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.launchd.files import Planned
    from autopilot.launchd.keeper import Keeper

LINGER_FILE = "linger-enabled"
"""In the state folder: that it was us who switched lingering on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what beside the files is done."""
    parser.add_argument("--dry-run", action="store_true", help="show every file and command; change nothing")
    parser.add_argument(
        "--linger", action="store_true", help="Linux: let the service go on after the last log-out"
    )
    parser.add_argument(
        "--pass",
        dest="passed",
        metavar="NAME",
        action="append",
        default=[],
        help="hand this variable to the service, e.g. an agent's key; it is kept in a file of mode 600",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Show what is written, write it, and have it taken up; once more changes nothing."""
    from autopilot.config.clock import SystemClock
    from autopilot.config.load import load
    from autopilot.config.paths import find_paths
    from autopilot.daemon import installing
    from autopilot.launchd import files, keeper

    paths, init = find_paths(), keeper.find(SystemClock())
    settings = load(paths)
    planned = files.plan(init, init.files(installing.service_of(paths, settings)))
    _refuse_elsewhere(init)
    refusal = init.refusal()
    answer: dict[str, Any] = {
        "init": init.init,
        "files": [{"path": str(file.path), "act": file.act} for file in planned],
        "commands": list(init.commands()),
        "unreachable": refusal,
    }
    if args.dry_run:
        _show(answer, planned, as_json=args.json)
        return ExitCode.OK
    if refusal:
        hint = "log in as this user, not by su or sudo; without a service autopilot on starts a daemon"
        raise RefusedError("no-service-manager", refusal, hint=hint)
    answer |= _install(args, init, planned, paths.ensure())
    if args.json:
        console.say_json(answer)
    else:
        _tell(answer, init)
    return ExitCode.OK


def refuse_foreign_home(home: str | None, ours: str) -> None:
    """Refuse to touch the service of another state folder.

    Raises:
        RefusedError: it keeps another queue than ours.
    """
    if home is not None and home != ours:
        what = f"the installed service keeps the queue of {home or 'the default folder'}, not this one's"
        import shlex

        before = f"AUTOPILOT_HOME={shlex.quote(home)} " if home else "env -u AUTOPILOT_HOME "
        raise RefusedError("service-elsewhere", what, hint=f"first: {before}autopilot uninstall")


def _refuse_elsewhere(init: Keeper) -> None:
    from autopilot.daemon import keeping

    refuse_foreign_home(keeping.installed_home(init), keeping.our_home())


def _install(
    args: argparse.Namespace, init: Keeper, planned: Sequence[Planned], paths: Paths
) -> dict[str, Any]:
    from autopilot.daemon import keeping
    from autopilot.launchd import files

    handed = _hand_over(args.passed, paths.config_file)
    files.remove(set(files.ours(init, init.names)) - {file.path for file in planned})
    files.write(planned)
    is_changed = any(file.act != "same" for file in planned)
    beside = door.is_daemon_up() and not init.standing().pid
    goes_on = bool(init.standing().pid) and is_changed and init.init == "systemd"
    init.take_up(is_changed=is_changed)
    if not beside:
        keeping.start(init)
    return {
        "handed": handed,
        "started": not beside,
        "goes_on": goes_on,
        "lingers": init.is_lingering(),
        "linger_refused": _linger(init, paths) if args.linger and not init.is_lingering() else "",
    }


def _linger(init: Keeper, paths: Paths) -> str:
    from autopilot.config.atomic import write_atomically

    refused = init.linger(is_wanted=True)
    if not refused:
        write_atomically(paths.state / LINGER_FILE, b"")
    return refused


def _hand_over(names: Iterable[str], config_file: Path) -> list[str]:
    """Keep the values for the service; give the names of all that it is handed."""
    from autopilot.config import environ, handed

    ours, file = environ.current(), handed.file_beside(config_file)
    missing = [name for name in names if not ours.get(name)]
    if missing:
        what = f"{', '.join(missing)} is not set here"
        raise RefusedError("variable-missing", what, hint="set it in this terminal, then repeat")
    kept = {**handed.read(file), **{name: ours[name] for name in names}}
    if names:
        handed.write(file, kept)
    return sorted(kept)


def _show(answer: dict[str, Any], planned: Iterable[Planned], *, as_json: bool) -> None:
    if as_json:
        console.say_json({**answer, "contents": {str(file.path): file.content.decode() for file in planned}})
        return
    for file in planned:
        console.say(f"# {file.path} ({file.act})")
        console.say(file.content.decode())
    for command in answer["commands"]:
        console.say(f"$ {command}")
    if answer["unreachable"]:
        console.say(f"! {answer['unreachable']}")


def _tell(answer: dict[str, Any], init: Keeper) -> None:
    for file in answer["files"]:
        console.say(f"{file['act']:8} {file['path']}")
    for command in answer["commands"]:
        console.say(f"$ {command}")
    if answer["handed"]:
        console.say(f"the service is handed: {', '.join(answer['handed'])}")
    if answer["goes_on"]:
        console.say("! the daemon goes on as it was started → autopilot daemon stop, then autopilot on")
    elif answer["started"]:
        console.say("the service runs, and comes up by itself; autopilot on lets the night begin")
    else:
        console.say("a daemon runs beside it; so that it is used: autopilot daemon stop, then autopilot on")
    if answer["linger_refused"]:
        console.say(f"! it ends with your last log-out: {console.line(answer['linger_refused'])}")
        console.say("    → sudo loginctl enable-linger $USER")
    elif init.init == "systemd" and not init.is_lingering():
        console.say("! it ends with your last log-out → autopilot install --linger")
