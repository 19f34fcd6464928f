"""`autopilot gc`: what could be cleaned up, and with `--apply` cleaning it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.cli import console, door
from autopilot.schemas.errors import ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare whether anything is removed."""
    parser.add_argument("--apply", action="store_true", help="remove what may go; work is saved first")
    parser.add_argument(
        "--salvages-older-than",
        type=_days,
        metavar="DAYS",
        help="instead: list what was saved of worktrees so long ago, with every commit and file",
    )
    parser.add_argument(
        "--delete", action="store_true", help="delete these salvages; nothing else holds them"
    )
    parser.add_argument(
        "--let-go",
        metavar="RUN",
        help="instead: say what of a run cannot be saved; with --apply remove it, and name what is lost",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Look, remove where that was asked for, and say where the report is."""
    if args.salvages_older_than is not None:
        return _salvages(args)
    if args.let_go is not None:
        return _let_go(args)
    if args.delete:
        raise RefusedError("nothing-chosen", "--delete needs --salvages-older-than DAYS", hint="see --help")
    from autopilot.config.paths import demo_home
    from autopilot.daemon.gc import report
    from autopilot.daemon.gc.sweep import sweep

    with door.open_desk() as desk:
        told, file = sweep(desk, apply=args.apply, demo=demo_home())
    if args.json:
        console.say_json(report.as_json(told))
    else:
        console.markdown(report.markdown(told))
        console.say(f"\n{'Removed' if args.apply else 'May go'}: {report.summary(told)}")
        console.say(f"Report: {file}")
    return ExitCode.FAILED if args.apply and told.failed else ExitCode.OK


def _let_go(args: argparse.Namespace) -> ExitCode:
    """Let go of what a run left, on a person's word."""
    from autopilot.daemon.gc.sweep import let_go

    if args.delete:
        raise RefusedError("two-clean-ups", "--delete removes something else", hint="leave one of them out")
    with door.open_desk() as desk:
        deeds = let_go(desk, args.let_go, apply=args.apply)
    failed = [deed for deed in deeds if not deed.is_removed]
    if args.json:
        told = [
            {"path": str(deed.item.path), "removed": deed.is_removed, "reason": deed.told} for deed in deeds
        ]
        console.say_json({"run": args.let_go, "is_applied": args.apply, "things": told})
    else:
        for deed in deeds:
            console.say(f"{deed.item.path}: {'removed' if deed.is_removed else deed.told}")
        if args.apply:
            console.say("what was lost is named in the folder of the reports, as let-go-RUN-….json")
        else:
            console.say(f"{'nothing was removed' if deeds else 'nothing was refused yet'}: add --apply")
    return ExitCode.FAILED if args.apply and failed else ExitCode.OK


def _days(text: str) -> int:
    days = int(text)
    if days < 1:
        raise ValueError(text)
    return days


def _salvages(args: argparse.Namespace) -> ExitCode:
    """Tell of old salvages, and delete them where that was asked for."""
    from autopilot.daemon.gc import salvages

    if args.apply:
        raise RefusedError("two-clean-ups", "--apply cleans up something else", hint="leave one of them out")
    days = args.salvages_older_than
    with door.open_desk() as desk:
        found = salvages.older_than(desk, days)
        gone, file = salvages.remove_old(desk, days) if args.delete else ([], None)
    if args.json:
        console.say_json(
            {
                "found": [one.as_fields() for one in found],
                "removed": [str(one.path) for one in gone],
                "names": None if file is None else str(file),
            }
        )
        return ExitCode.OK
    for one in found:
        console.say(f"{one.path}{f': stays, {one.stays}' if one.stays else ''}")
        for commit in one.commits:
            console.say(f"  commit {commit}, in no remote that we know of")
        more = one.record.changed_files - len(one.record.files)
        for name in (*one.record.files, *([f"and {more} more"] if more > 0 else [])):
            console.say(f"  changed {name}")
        for name in one.record.left_out:
            console.say(f"  ignored, not saved: {name}")
    if file is not None:
        console.say(f"{len(gone)} removed; what was in them is named in {file}")
    else:
        told = "nothing to remove" if args.delete else "nothing was removed: add --delete"
        console.say(f"{len(found)} salvages are older than {days} days; {told}")
    return ExitCode.OK
