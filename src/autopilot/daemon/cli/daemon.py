"""`autopilot daemon run|stop`: be the daemon in the foreground, or stop the one that runs."""

from __future__ import annotations

import faulthandler
import sys
from typing import TYPE_CHECKING

from autopilot.config.paths import find_paths
from autopilot.daemon.cli import console
from autopilot.schemas.errors import AutopilotError, ExitCode

if TYPE_CHECKING:
    import argparse

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths

_USELESS_AGAIN = frozenset({ExitCode.REFUSED, ExitCode.CONFIG})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two acts."""
    parser.add_argument(
        "act", choices=["run", "stop"], help="run in the foreground, or stop the one that runs"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Run until told to stop (SIGTERM drains, a second one stops at once), or stop the one that runs."""
    if args.act == "stop":
        from autopilot.daemon.cli import starter

        console.say("stopped" if starter.stop_daemon(find_paths()) else "no daemon runs")
        return ExitCode.OK
    from autopilot.config import environ
    from autopilot.config.clock import SystemClock
    from autopilot.launchd.service import LAUNCHD, MARK

    if sys.stderr is not None:
        faulthandler.enable()  # the watchdog ends us by SIGABRT: where did every thread stand?
    paths, clock, init = find_paths(), SystemClock(), environ.current().get(MARK)
    if init == LAUNCHD:
        return _run_for_launchd(paths, clock)
    return _be_daemon(paths, clock, is_service=bool(init))


def _be_daemon(paths: Paths, clock: Clock, *, is_service: bool) -> ExitCode:
    from autopilot.config.heap import loading, share_one_heap
    from autopilot.config.room import require_memory

    share_one_heap()  # before there is a second thread
    require_memory()
    from autopilot.config import handed
    from autopilot.config.load import load
    from autopilot.daemon import starts

    with starts.counted(paths, clock):
        if is_service:
            handed.take_in(handed.file_beside(paths.config_file))
        settings = load(paths)
        with loading():
            from autopilot.daemon.app import run_daemon  # what the check of the settings took serves it again

        return run_daemon(paths, settings, clock, reload=lambda: load(paths))


def _run_for_launchd(paths: Paths, clock: Clock) -> ExitCode:
    """Be the daemon of launchd, which knows neither a limit of starts nor codes after which none would help.

    It starts us again after any code but 0, hence 0 where another start would change nothing.
    """
    from autopilot.daemon import starts
    from autopilot.launchd import keeper
    from autopilot.launchd.service import BURST, BURST_WITHIN_S

    if starts.is_hopeless(paths, clock, count=BURST, within_s=BURST_WITHIN_S):
        starts.given_up(paths, clock, how=f"{BURST} starts failed", restarts=0)
        keeper.find(clock).keep_awake(is_wanted=False)  # for nobody
        console.complain("too many starts failed; mend the cause (autopilot status), then: autopilot on")
        return ExitCode.OK
    try:
        code = _be_daemon(paths, clock, is_service=True)
    except AutopilotError as error:
        if error.exit_code not in _USELESS_AGAIN:
            raise
        console.refuse(error, as_json=False)
        return ExitCode.OK
    return ExitCode.OK if code in _USELESS_AGAIN else code
