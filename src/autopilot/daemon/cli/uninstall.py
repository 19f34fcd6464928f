"""`autopilot uninstall`: stop the service and remove everything that `install` made. The queue stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.cli import console
from autopilot.daemon.cli.install import LINGER_FILE, refuse_foreign_home
from autopilot.schemas.errors import ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.launchd.keeper import Keeper


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the forms."""
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed; change nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Let the service go, then remove its files; where none is installed, nothing is done."""
    from autopilot.config import handed
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import find_paths
    from autopilot.daemon import keeping
    from autopilot.launchd import files, keeper

    paths, init = find_paths(), keeper.find(SystemClock())
    refuse_foreign_home(keeping.installed_home(init), keeping.our_home())
    present = files.ours(init, init.names)
    beside = [file for file in (handed.file_beside(paths.config_file),) if file.exists()]
    if present and not args.dry_run:
        _let_go(init, paths)
    if not args.dry_run:
        files.remove([*present, *beside])
        init.forget() if present else None
    _tell([*present, *beside], paths, is_dry=args.dry_run, as_json=args.json)
    return ExitCode.OK


def _let_go(init: Keeper, paths: Paths) -> None:
    refusal = init.refusal()
    if refusal:
        hint = "log in as this user (not by su or sudo), then repeat the command"
        raise RefusedError("no-service-manager", refusal, hint=hint)
    init.let_go()
    marker = paths.state / LINGER_FILE
    if marker.exists():
        init.linger(is_wanted=False)
        marker.unlink(missing_ok=True)


def _tell(gone: list[Path], paths: Paths, *, is_dry: bool, as_json: bool) -> None:
    if as_json:
        console.say_json({"removed": [str(path) for path in gone], "stays": str(paths.state)})
        return
    for path in gone:
        console.say(f"{'would go' if is_dry else 'removed'}  {path}")
    if not gone:
        console.say("no service is installed")
    console.say(f"queue, runs and digests stay in {paths.state}, the configuration in {paths.config_file}")
