"""`autopilot init`: look at the repository you are in, show what would be configured, and write it."""

from __future__ import annotations

import stat
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from autopilot.daemon.cli import console
from autopilot.schemas.errors import ConfigError, ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from autopilot.config.load import Loaded
    from autopilot.config.paths import Paths
    from autopilot.daemon.survey import Survey


class Lacking(NamedTuple):
    """What this machine does not have yet; each is empty when it has it."""

    program: str
    token: str
    identity: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how to go about it."""
    parser.add_argument(
        "--path", type=Path, default=None, help="the repository; the current folder if absent"
    )
    parser.add_argument("--name", help="what to call it; its folder's name if absent")
    parser.add_argument("--base", help="branch that drafts are for; the remote's default if absent")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--dry-run", action="store_true", help="only show; write nothing")
    parser.add_argument(
        "--show-profile",
        action="store_true",
        help="show in full, first, what its agent may do",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; needs --yes or --dry-run")


def run(args: argparse.Namespace) -> ExitCode:
    """Survey, show, write. A file that would not load is never left behind."""
    from autopilot.config.load import load_with_origins
    from autopilot.config.paths import find_paths
    from autopilot.daemon import profile as profiles
    from autopilot.daemon import proposal
    from autopilot.daemon.api import client

    paths = find_paths()
    loaded = load_with_origins(paths)
    _refuse_silence(args, paths)
    found = _survey(args)
    refuse_twice(found, loaded)
    has_identity = any(key.startswith("identity.") for key in set_by_a_person(loaded))
    text = proposal.toml(found, has_identity=has_identity)
    lacking = _lacking(found, loaded, has_identity=has_identity)
    agent = loaded.settings.agent()
    profile = (
        profiles.profile_of(agent, found.tests.allowed, loaded.settings.guard.spec())
        if args.show_profile
        else None
    )
    if not args.json:
        shown = profiles.lines(agent, profile) if profile else ()
        console.say("\n".join((*lines(found, text, lacking, paths), *shown)))
    may_write = not args.dry_run and (args.yes or _agrees())
    if may_write:
        append(paths, text)
        client.nudge(paths.control_socket)  # a daemon that runs already learns of it at once
    if args.json:
        seen = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(found).items()}
        told = {"survey": seen, "config_file": str(paths.config_file), "toml": text, "written": may_write}
        console.say_json({**told, **({"profile": asdict(profile)} if profile else {})})
    else:
        _end(found, lacking, paths, is_written=may_write)
    return ExitCode.OK if may_write or args.dry_run else ExitCode.REFUSED


def set_by_a_person(loaded: Loaded) -> Iterator[str]:
    """Give the keys that are not as they come with the program."""
    from autopilot.config.layers import DEFAULTS

    return (key for key, origin in loaded.origins.items() if origin != DEFAULTS)


def _survey(args: argparse.Namespace) -> Survey:
    from autopilot.config.clock import SystemClock
    from autopilot.daemon.survey import survey
    from autopilot.schemas.ids import slug

    start = (args.path or Path.cwd()).absolute()
    with tempfile.TemporaryDirectory(prefix="autopilot-init-") as scratch:
        found = survey(start, clock=SystemClock(), scratch=Path(scratch), base=args.base)
    return replace(found, name=slug(args.name)) if args.name else found


def refuse_twice(found: Survey, loaded: Loaded) -> None:
    """Refuse what is configured already, by its address or by its name.

    Raises:
        RefusedError: `repo-known`.
    """
    from autopilot.daemon.proposal import address

    for repo in loaded.settings.repos:
        if repo.fetch_from == address(found):
            what = f"this repository is configured already, as {repo.name}"
            hint = f'autopilot add --repo {repo.name} "what to do"; to change it: autopilot config path'
            raise RefusedError("repo-known", what, hint=hint)
        if repo.name.casefold() == found.name:
            what = f"another repository is called {repo.name} already: {repo.fetch_from}"
            raise RefusedError("repo-known", what, hint=f"give this one a --name, e.g. {found.name}-2")


def _lacking(found: Survey, loaded: Loaded, *, has_identity: bool) -> Lacking:
    import shutil

    from autopilot.config import environ, secrets
    from autopilot.config.secrets import stored_by
    from autopilot.daemon.proposal import CREDENTIAL
    from autopilot.runner.agents.registry import program_of

    program = program_of(loaded.settings.agent()) or ""
    has_program = not program or shutil.which(program, path=environ.search_path(environ.current()))
    needs_token = found.remote is not None and bool(found.remote.project)
    has_token = not needs_token or secrets.status(CREDENTIAL) == "readable"
    has_identity = has_identity or found.identity is not None
    standing_in = loaded.settings.identity
    return Lacking(
        program="" if has_program else program,
        token="" if has_token else stored_by(CREDENTIAL),
        identity="" if has_identity else f"{standing_in.name} <{standing_in.email}>",
    )


def lines(found: Survey, text: str, lacking: Lacking, paths: Paths) -> Iterator[str]:
    """Show what was found, and what would be written."""
    yield f"repository {found.root}"
    yield f"  name     {found.name}"
    yield f"  remote   {found.remote.address if found.remote else '(none)'}"
    yield f"  base     {found.base} ({found.base_source})"
    yield f"  stack    {found.tests.stack}"
    yield f"  tests    {found.tests.command or found.tests.fault or '(none)'}"
    yield f"  agent    {f'{lacking.program} is not on PATH yet' if lacking.program else 'ready'}"
    if lacking.identity:
        yield f"  note     git has no user.name and user.email: commits will be made as {lacking.identity}"
    yield from (f"  note     {note}" for note in found.notes)
    if found.tests.policy:
        yield f"to have its tests run, commit this as .autopilot.toml on {found.base}, with your own command:"
        yield from _indented(found.tests.policy)
    yield f"this will be added to {paths.config_file}:"
    yield from _indented(text)


def _indented(text: str) -> Iterator[str]:
    yield ""
    yield from (f"    {line}".rstrip() for line in text.splitlines())
    yield ""


def _refuse_silence(args: argparse.Namespace, paths: Paths) -> None:
    if args.yes or args.dry_run or (not args.json and sys.stdin is not None and sys.stdin.isatty()):
        return
    what = f"nobody is there to ask; {paths.config_file} is unchanged"
    raise RefusedError("not-asked", what, hint="give --yes to write it, or --dry-run to only look")


def _agrees() -> bool:
    try:
        return input("write it? [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False


def _end(found: Survey, lacking: Lacking, paths: Paths, *, is_written: bool) -> None:
    from autopilot.daemon.proposal import next_steps

    console.say("written" if is_written else f"{paths.config_file} is unchanged")
    if is_written:
        steps = next_steps(
            found,
            missing_program=lacking.program,
            missing_token=lacking.token,
            missing_identity=lacking.identity,
            config_file=paths.config_file,
        )
        console.say("\n".join(["next:", *(f"  {step}" for step in steps)]))


def append(paths: Paths, text: str) -> None:
    """Add `text` to the configuration; put the file back when it does not load with it.

    Raises:
        ConfigError: with the addition it would not load; the file is as it was.
    """
    from autopilot.config.atomic import make_folder, write_atomically
    from autopilot.config.load import load

    target = paths.config_file.resolve()  # a link to a file kept elsewhere stays a link
    make_folder(target.parent)
    before = target.read_bytes() if target.exists() else None
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
    joined = ((before.rstrip() + b"\n\n") if before and before.strip() else b"") + text.encode()
    write_atomically(target, joined, mode=mode)
    try:
        load(paths)
    except ConfigError:
        if before is None:
            target.unlink()
        else:
            write_atomically(target, before, mode=mode)
        raise
