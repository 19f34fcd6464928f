"""`autopilot backup`: copy the queue while it is in use, or list the copies there are."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    import argparse

    from autopilot.daemon.store.copies import Copy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two acts and where a copy goes."""
    parser.add_argument(
        "act", nargs="?", choices=["now", "list"], default="now", help="now (the default), or list the copies"
    )
    parser.add_argument("--to", metavar="FILE", help="write it there; a folder gets a new file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Copy and read the copy back, or read every copy there is."""
    if args.act == "list":
        return _list(as_json=args.json)
    copy = _make(args.to)
    if args.json:
        console.say_json({"backup": as_fields(copy)})
    else:
        console.say(f"{copy.path} holds {copy.tickets} tickets; it was read back and is whole")
        console.say(f"bring it back with: autopilot restore {shlex.quote(str(copy.path))}")
    return ExitCode.OK


def _make(target: str | None) -> Copy:
    from autopilot.daemon.store import backup, copies, migrate

    with door.open_desk() as desk:
        now_ms, database = desk.clock.now_ms(), desk.store.database
        if target is None:
            copy = backup.make(database, taken_ms=now_ms, kind="manual", schema=migrate.HEAD)
            backup.prune(copy.path.parent, keep=desk.settings.backup.keep_files, kind="manual")
            return copy
        place = Path(target).expanduser().absolute()
        name = copies.name_of(migrate.HEAD, now_ms, "manual")
        return backup.write(database, place / name if place.is_dir() else place)


def _list(*, as_json: bool) -> ExitCode:
    from autopilot.config.paths import find_paths
    from autopilot.daemon.store import copies

    folder = find_paths().state / copies.BACKUP_FOLDER
    found = [copies.inspect(path) for path in copies.in_folder(folder)]
    if as_json:
        console.say_json({"backups": [as_fields(copy) for copy in found]})
    elif not found:
        console.say(f"no backups in {folder}; `autopilot backup` makes one")
    else:
        console.table(
            [_row(copy) for copy in found], header=("taken", "tickets", "size", "kind", "is", "file")
        )
    return ExitCode.OK


def _row(copy: Copy) -> tuple[str, ...]:
    from autopilot.daemon.store import copies

    return (
        iso_utc(copy.taken_ms),
        "-" if copy.fault else str(copy.tickets),
        f"{copy.size_bytes / 1024**2:.1f} MiB",
        copies.kind_of(copy.path) or "other",
        f"damaged: {copy.fault}" if copy.fault else "good",
        str(copy.path),
    )


def as_fields(copy: Copy) -> dict[str, Any]:
    """Give a copy as plain values."""
    from autopilot.daemon.store import copies

    return {
        "path": str(copy.path),
        "kind": copies.kind_of(copy.path) or "other",
        "taken_ms": copy.taken_ms,
        "size_bytes": copy.size_bytes,
        "schema": copy.schema,
        "tickets": copy.tickets,
        "is_good": not copy.fault,
        "fault": copy.fault,
    }
