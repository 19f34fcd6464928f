"""What the operator's configuration promises: agents, repositories, credentials, identity.

Must not read a secret's value; asks the network only for the tip of each base branch.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ, secrets
from autopilot.config.layers import read_defaults
from autopilot.daemon.checkup import who
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.runner.agents.registry import kind_of, program_of, sign_in, sign_in_variables
from autopilot.runner.agents.release import refusal
from autopilot.runner.agents.sign_in import Inside, Outside
from autopilot.runner.in_clear import refuse_in_clear
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings
    from autopilot.daemon.checkup.scene import Runner
    from autopilot.schemas.checkup import Check

_SSH = re.compile(r"(?:git\+)?ssh://|[^/:]+:(?!//)")


def file(settings: Settings, paths: Paths) -> Check:
    """Look for repositories in the configuration file."""
    names = [repo.name for repo in settings.repos]
    if not names:
        what = f"{paths.config_file} names no repository"
        return blocked("configuration", what, "run autopilot init inside a repository")
    return ok("configuration", f"{paths.config_file}: {', '.join(names)}")


def identity(settings: Settings) -> Check:
    """Look whose name commits will carry."""
    who = f"commits are made as {settings.identity.name} <{settings.identity.email}>"
    if settings.identity.email == read_defaults()["identity"]["email"]:
        return warning("identity", who, "set name and email in [identity] of the configuration")
    return ok("identity", who)


def used_agents(settings: Settings) -> list[str]:
    """Name the agents that tickets will run with."""
    return sorted({repo.agent or settings.default_agent for repo in settings.repos})


def agent(name: str, settings: Settings, runner: Runner | None = None) -> Check:
    """Look for an agent's program, as whoever will start it sees PATH, and for a way to sign in."""
    label, by = f"agent {name}", runner or who.ours()
    spec = settings.agent(name)
    program = program_of(spec)
    if program is None:
        return ok(label, f"{spec.kind}: part of autopilot")
    found = shutil.which(program, path=environ.search_path(by.environment))
    if found is None:
        cure = f"install it, or say where it is: [agents.{name}] argv"
        if "/" not in program:
            return blocked(label, f"{program} is not on PATH{by.owner}", cure)
        if not Path(program).is_file():
            return blocked(label, f"{program} is not there", cure)
        return blocked(label, f"{program} cannot be executed", f"chmod +x {shlex.quote(program)}")
    wanted = sign_in_variables(spec)
    if wanted and not _signs_in(wanted, by):
        cure = f"set one of {', '.join(wanted)} where autopilot is started (docs/agents/{spec.kind}.md)"
        return blocked(
            label, f"{found} has no way to sign in{by.owner}: its runs see a HOME of their own", cure
        )
    return ok(label, found)


def _signs_in(wanted: Iterable[str], runner: Runner) -> bool:
    """Tell whether one of them is set; what the init system itself gives a service, its own line tells."""
    known = {**environ.current(), **runner.environment} if runner.is_service else runner.environment
    return any(known.get(name) for name in wanted)


def agent_release(
    name: str, settings: Settings, clock: Clock, runner: Runner | None = None
) -> Iterator[Check]:
    """Ask an agent's program how old it is, where that matters to the guard."""
    spec = settings.agent(name)
    program, need = program_of(spec), kind_of(spec).need
    if program is None or need is None:
        return
    found = shutil.which(program, path=environ.search_path((runner or who.ours()).environment))
    if found is None:
        return
    with tempfile.TemporaryDirectory(prefix="autopilot-doctor-") as folder:
        refused = refusal((found, *spec.argv[1:]), need, clock=clock, folder=Path(folder))
    label = f"release of {name}"
    yield blocked(label, refused.what, refused.hint) if refused else ok(label, f"{need.oldest} or later")


def key_kept(name: str, settings: Settings, runner: Runner | None = None) -> Iterator[Check]:
    """Say where an agent's credential is while it works: outside of its cell, or for its tests to read."""
    label, spec, environment = f"key of {name}", settings.agent(name), (runner or who.ours()).environment
    try:
        refuse_in_clear(spec, environment)
    except ConfigError as error:
        yield blocked(label, error.what, error.hint)
        return
    found = sign_in(spec, environment)
    if isinstance(found, Outside) and settings.sandbox.kind == "none":
        found = Inside(found.variables, 'there is no cell: [sandbox] kind = "none"', "let it be auto")
    match found:
        case Outside(url=url):
            yield ok(
                label,
                f"{', '.join(found.variables)} stays outside of its cell; calls to {url} are signed there",
            )
        case Inside(variables, reason, hint):
            what = f"whatever an agent starts, tests too, can read {', '.join(variables)}: {reason}"
            yield warning(label, what, hint)


def programs(settings: Settings, runner: Runner) -> Iterator[Check]:
    """Look for what git needs beside itself, where whoever starts the runs will look."""
    places = environ.search_path(runner.environment)
    addresses = [address for repo in settings.repos for address in (repo.fetch_from, repo.push_to)]
    if any(_SSH.match(address) for address in addresses):
        found = shutil.which("ssh", path=places)
        what = f"ssh is not on PATH{runner.owner}, and a repository is reached by it"
        yield ok("ssh", found) if found else blocked("ssh", what, "install an ssh client")
    found = shutil.which("git-lfs", path=places)
    yield ok(
        "git-lfs", found or f"not on PATH{runner.owner}; only a repository with large-file pointers needs it"
    )


def without_credential(settings: Settings) -> Iterator[Check]:
    """Name each repository whose forge needs a token, and that names none."""
    for repo in settings.repos:
        if repo.forge != "local" and repo.credential is None:
            how = secrets.stored_by("github")
            cure = f'add credential = "github" to its [[repo]], and store the token: {how}'
            yield blocked(f"credential of {repo.name}", f"the forge {repo.forge} needs a token", cure)


def credential(name: str, runner: Runner) -> Check:
    """Ask whether a credential could be read by whoever will publish; its value is not read."""
    label, variable = f"credential {name}", secrets.variable_for(name)
    standing = secrets.status(name)
    if standing == "readable" and _is_only_ours(variable, runner):
        what = f"{variable} is set in this terminal, and not for {runner.who}"
        return blocked(
            label, what, f"autopilot install --pass {variable}, or store it: {secrets.stored_by(name)}"
        )
    if standing == "readable" or runner.environment.get(variable):
        return ok(label, "is there and can be read")
    if standing == "locked":
        cure = f"unlock the key ring, as a log-in does, or set {variable} where the daemon is started"
        return blocked(label, "is locked", cure)
    if standing == "no-backend":
        cure = f"set {variable} where the daemon is started: this session has no key ring to ask"
        if "KDE" in environ.current().get("XDG_CURRENT_DESKTOP", "").split(":"):
            cure += "; or let KWallet answer as the Secret Service, in the settings of KDE Wallet"
        return blocked(label, "is missing, and no key ring can be reached (no-backend)", cure)
    return blocked(label, f"is {standing}", secrets.stored_by(name))


def _is_only_ours(variable: str, runner: Runner) -> bool:
    """Tell whether nothing but this terminal's variable makes it readable."""
    return not runner.is_us and variable in environ.current() and variable not in runner.environment
