"""`autopilot report`: write what a maintainer needs to help into one masked file, and say what is in it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    from autopilot.daemon.report.making import Report
    from autopilot.schemas.errors import AutopilotError

LOG_KIB = 512
_MOST_LOG_KIB = 16 * 1024
_SUFFIX = ".tar.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where it goes and how much goes into it."""
    parser.add_argument(
        "--output",
        metavar="PATH",
        help="write it there; a folder gets a new file (the current one if absent)",
    )
    parser.add_argument(
        "--log-kib",
        metavar="N",
        type=_kib,
        default=LOG_KIB,
        help=f"KiB of the daemon's log, from its end ({LOG_KIB})",
    )
    parser.add_argument(
        "--with-texts",
        action="store_true",
        help="keep what log and journals say in words: it may repeat tickets, agents and code",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Make and write it; nothing that is there is ever replaced."""
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import find_paths

    paths, clock = find_paths(), SystemClock()
    target = _target(args.output, clock.now_ms())
    _check_free(target)
    from autopilot.daemon.cli.theatre import interruptible
    from autopilot.daemon.report.making import make
    from autopilot.daemon.report.pieces import Wish

    with interruptible():
        made = make(paths, clock, Wish(log_kib=args.log_kib, with_texts=args.with_texts))
        _write(target, made)
    if args.json:
        console.say_json({"report": {"path": str(target), "size_bytes": len(made.data)} | _fields(made)})
    else:
        _tell(target, made)
    return ExitCode.OK


def _kib(text: str) -> int:
    """Read how much of the log is wanted."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= _MOST_LOG_KIB:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {_MOST_LOG_KIB}")
    return number


def _target(wanted: str | None, now_ms: int) -> Path:
    """Name the file; in a folder it is named after the moment.

    Raises:
        RefusedError: the current folder is gone.
    """
    from autopilot.schemas.errors import RefusedError
    from autopilot.schemas.units import iso_utc

    try:
        place = Path(wanted or ".").expanduser().absolute()
    except (OSError, RuntimeError) as exc:
        what = f"it cannot be told where that is: {exc}"
        raise RefusedError("report-nowhere", what, hint="write the path out: --output /folder/name") from exc
    if not place.is_dir():
        return place
    stamp = "".join(char for char in iso_utc(now_ms) if char not in ":.-")
    return place / f"autopilot-report-{stamp}{_SUFFIX}"


def _check_free(target: Path) -> None:
    """Refuse early what would be refused late.

    Raises:
        RefusedError: something is there, or its folder is not.
    """
    from autopilot.schemas.errors import RefusedError

    if target.exists() or target.is_symlink():
        raise _is_there(target)
    if not target.parent.is_dir():
        what = f"{target.parent} is no folder"
        raise RefusedError("report-nowhere", what, hint="make it, or name another with --output PATH")


def _is_there(target: Path) -> AutopilotError:
    from autopilot.schemas.errors import RefusedError

    what = f"{target} is there already"
    return RefusedError("report-exists", what, hint="name another file with --output PATH, or move it away")


def _write(target: Path, made: Report) -> None:
    """Put it in its place, whole, for this user alone.

    Raises:
        AutopilotError: it cannot be written there.
    """
    from autopilot.config.atomic import write_new
    from autopilot.config.room import is_full
    from autopilot.schemas.errors import ConfigError, TransientError

    try:
        write_new(target, made.data)
    except FileExistsError as exc:
        raise _is_there(target) from exc
    except OSError as exc:
        what = f"cannot write {target}: {exc.strerror or exc}"
        elsewhere = "name a file elsewhere with --output PATH"
        if is_full(exc):
            raise TransientError("disk-full", what, hint=f"free disk space, or {elsewhere}") from exc
        raise ConfigError(
            "report-unwritable", what, hint=f"make its folder writable, or {elsewhere}"
        ) from exc


def _fields(made: Report) -> dict[str, Any]:
    return made.manifest.model_dump(mode="json")


def _tell(target: Path, made: Report) -> None:
    import shlex

    manifest = made.manifest
    console.say(f"{target}, {len(made.data) / 1024:.1f} KiB, readable by you alone")
    for file in manifest.files:
        console.say(f"  {file.name:<28} {file.size_bytes / 1024:>8.1f} KiB  {file.about}")
    masked = ", ".join(f"{count} {kind}" for kind, count in manifest.masked.items())
    console.say(f"masked: {masked or 'nothing was found to mask'}")
    console.say("left out:")
    for gap in manifest.left_out:
        console.say(f"  {console.line(gap.what)}: {console.line(gap.why)}")
    console.say(f"{manifest.advice}\n  tar -xzOf {shlex.quote(str(target))} | less")
