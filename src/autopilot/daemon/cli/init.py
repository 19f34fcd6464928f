"""`autopilot init`: look at the repository you are in, show what would be configured, and write it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.daemon.cli import console
from autopilot.schemas.errors import ConfigError, ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse

    from autopilot.config.paths import Paths
    from autopilot.daemon.survey import Survey


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how to go about it."""
    parser.add_argument(
        "--path", type=Path, default=None, help="the repository; the current folder if absent"
    )
    parser.add_argument("--name", help="what to call it; its folder's name if absent")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--dry-run", action="store_true", help="only show")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Survey, show, write. A file that would not load is never left behind."""
    from dataclasses import asdict, replace

    from autopilot.config import environ
    from autopilot.config.clock import SystemClock
    from autopilot.config.layers import DEFAULTS
    from autopilot.config.load import load_with_origins
    from autopilot.config.paths import find_paths
    from autopilot.daemon.survey import proposal, survey
    from autopilot.schemas.ids import slug

    paths = find_paths().ensure()
    loaded = load_with_origins(paths)
    settings = loaded.settings
    start = (args.path or Path.cwd()).absolute()
    found = survey(start, clock=SystemClock(), scratch=paths.state, path=environ.current().get("PATH"))
    if args.name:
        found = replace(found, name=slug(args.name))
    _refuse_twice(found, tuple(repo.name for repo in settings.repos))
    known = {
        "identity": loaded.origins.get("identity.email", DEFAULTS) != DEFAULTS,
        "agent": found.agent is None or found.agent in settings.agents,
    }
    text = proposal(found, known=known)
    if args.json:
        seen = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(found).items()}
        console.say_json({"survey": seen, "config_file": str(paths.config_file), "toml": text})
    else:
        _show(found, text, paths)
    if args.dry_run:
        return ExitCode.OK
    if not args.yes and not _agrees(paths):
        return ExitCode.REFUSED
    append(paths, text)
    if not args.json:
        console.say(f'written. Next: autopilot add --repo {found.name} "what to do", then autopilot on')
    return ExitCode.OK


def _refuse_twice(found: Survey, names: tuple[str, ...]) -> None:
    if found.name in names:
        what = f"a repository called {found.name} is configured already"
        raise RefusedError(
            "repo-known", what, hint="give another --name, or edit the file: autopilot config path"
        )


def _show(found: Survey, text: str, paths: Paths) -> None:
    console.say(f"repository {found.root}")
    console.say(f"  remote   {found.remote or '(none)'}")
    console.say(f"  base     {found.base} ({found.base_source})")
    console.say(f"  stack    {found.stack}")
    console.say(f"  agent    {found.agent or '(none found on PATH: install one, or configure [agents])'}")
    for note in found.notes:
        console.say(f"  note     {note}")
    console.say(f"this will be added to {paths.config_file}:")
    console.say()
    for line in text.splitlines():
        console.say(f"    {line}".rstrip())
    console.say()


def _agrees(paths: Paths) -> bool:
    if not sys.stdin.isatty():
        hint = "give --yes to write it, or --dry-run to only look"
        raise RefusedError(
            "not-asked", f"nobody is there to ask; {paths.config_file} is unchanged", hint=hint
        )
    return input("write it? [y/N] ").strip().lower() in {"y", "yes"}


def append(paths: Paths, text: str) -> None:
    """Add `text` to the configuration; put the file back when it does not load with it.

    Raises:
        ConfigError: with the addition it would not load; the file is as it was.
    """
    from autopilot.config.atomic import write_atomically
    from autopilot.config.load import load

    target = paths.config_file
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    before = target.read_bytes() if target.exists() else None
    joined = ((before.rstrip() + b"\n\n") if before and before.strip() else b"") + text.encode()
    write_atomically(target, joined)
    try:
        load(paths)
    except ConfigError:
        if before is None:
            target.unlink()
        else:
            write_atomically(target, before)
        raise
