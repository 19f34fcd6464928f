"""What the operator's configuration promises: agents, repositories, credentials, identity.

Must not read a secret's value; asks the network only for the tip of each base branch.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ, secrets
from autopilot.config.git import Git, GitError
from autopilot.config.layers import read_defaults
from autopilot.daemon.checkup.check import Check, blocked, ok, warning
from autopilot.runner.agents.registry import need_of, program_of, sign_in_variables
from autopilot.runner.agents.release import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.repository import Repo
    from autopilot.config.settings import Settings

_REMOTE_S = 20.0
_SHOWN_SHA = 12
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


def agent(name: str, settings: Settings) -> Check:
    """Look for an agent's program."""
    label = f"agent {name}"
    spec = settings.agent(name)
    program = program_of(spec)
    if program is None:
        return ok(label, f"{spec.kind}: part of autopilot")
    found = shutil.which(program, path=environ.search_path(environ.current()))
    if found is None:
        cure = f"install it, or say where it is: [agents.{name}] argv"
        if "/" not in program:
            return blocked(label, f"{program} is not on PATH", cure)
        if not Path(program).is_file():
            return blocked(label, f"{program} is not there", cure)
        return blocked(label, f"{program} cannot be executed", f"chmod +x {shlex.quote(program)}")
    wanted = sign_in_variables(spec)
    if wanted and not any(environ.current().get(name) for name in wanted):
        cure = f"set one of {', '.join(wanted)} where autopilot is started (docs/agents/{spec.kind}.md)"
        return blocked(label, f"{found} has no way to sign in: its runs see a HOME of their own", cure)
    return ok(label, found)


def agent_release(name: str, settings: Settings, clock: Clock) -> Iterator[Check]:
    """Ask an agent's program how old it is, where that matters to the guard."""
    spec = settings.agent(name)
    program, need = program_of(spec), need_of(spec)
    if program is None or need is None:
        return
    found = shutil.which(program, path=environ.search_path(environ.current()))
    if found is None:
        return
    with tempfile.TemporaryDirectory(prefix="autopilot-doctor-") as folder:
        refused = refusal((found, *spec.argv[1:]), need, clock=clock, folder=Path(folder))
    label = f"release of {name}"
    yield blocked(label, refused.what, refused.hint) if refused else ok(label, f"{need.oldest} or later")


def programs(settings: Settings) -> Iterator[Check]:
    """Look for what git needs beside itself, where a run's git will look."""
    places = environ.search_path(environ.current())
    addresses = [address for repo in settings.repos for address in (repo.fetch_from, repo.push_to)]
    if any(_SSH.match(address) for address in addresses):
        found = shutil.which("ssh", path=places)
        what = "ssh is not on PATH, and a repository is reached by it"
        yield ok("ssh", found) if found else blocked("ssh", what, "install an ssh client")
    found = shutil.which("git-lfs", path=places)
    yield ok("git-lfs", found or "not on PATH; only a repository with large-file pointers needs it")


def repository(repo: Repo, clock: Clock, paths: Paths) -> Check:
    """Ask the remote for the tip of the base branch."""
    label = f"repository {repo.name}"
    git = Git(clock=clock, scratch=paths.state, timeout_s=_REMOTE_S, user_config=True)
    wanted = f"refs/heads/{repo.base}" if repo.base else "HEAD"
    try:
        answer = git.run("ls-remote", "--", repo.fetch_from, wanted, cwd=paths.state)
    except GitError as error:
        return blocked(label, error.what, error.hint or f"try: git ls-remote {repo.fetch_from}")
    if not answer.strip():
        return blocked(label, f"the remote has no {wanted}", "set base to a branch that exists")
    return ok(label, f"{repo.fetch_from} answers; {wanted} is {answer[:_SHOWN_SHA].decode()}")


def credentials(settings: Settings) -> Iterator[Check]:
    """Ask for each credential whether it could be read."""
    for repo in settings.repos:
        if repo.forge != "local" and repo.credential is None:
            cure = f'add credential = "github" to its [[repo]], and store the token: {stored_by("github")}'
            yield blocked(f"credential of {repo.name}", f"the forge {repo.forge} needs a token", cure)
    for name in sorted({repo.credential for repo in settings.repos if repo.credential}):
        standing = secrets.status(name)
        if standing == "readable":
            yield ok(f"credential {name}", "is there and can be read")
        else:
            yield blocked(f"credential {name}", f"is {standing}", stored_by(name))


def stored_by(name: str) -> str:
    """Say how a person stores a credential."""
    command = f"{sys.executable} -m keyring set {secrets.SERVICE} {name}"
    return f"{command}, or set {secrets.variable_for(name)}"
