"""Shows what an agent may do unattended: the whole profile, as it will be written for each run.

Must not write it: a run writes its own, in its folder. Nothing is granted by installing autopilot.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.runner.agents.adapter import Order
from autopilot.runner.agents.registry import kind_of, new_agent
from autopilot.runner.guard.selftest import client_command
from autopilot.schemas.guard import GuardSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autopilot.schemas.run import AgentSpec

RUN, WORKTREE = Path("/RUN"), Path("/WORKTREE")
"""Stand for the folder of a run and the worktree of its ticket."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How an agent is started, and the files that say what it may do."""

    command: tuple[str, ...]
    variables: Mapping[str, str]
    passed: tuple[str, ...]
    files: Mapping[str, str]


def profile_of(
    agent: AgentSpec, commands: tuple[tuple[str, ...], ...], listed: GuardSpec | None = None
) -> Profile:
    """Make the profile of an agent in a repository whose own commands are these.

    Raises:
        ConfigError: the agent's configuration cannot work.
    """
    extra = listed or GuardSpec()
    guard = client_command(str(RUN / "guard.sock")) if kind_of(agent).asks_guard else ()
    order = Order(
        agent=agent,
        prompt=Path(os.devnull),
        private=RUN / "agent",
        worktree=WORKTREE,
        round_no=1,
        guard=guard,
        is_confined=True,
        allowed_commands=(*commands, *((name,) for name in extra.read_only_programs)),
        allowed_tools=extra.allow_tools,
    )
    launch = new_agent(agent).launch(order)
    files = {str(path): text for path, text in launch.files.items()}
    return Profile(launch.argv, launch.extra, launch.passes, files)


def lines(agent: AgentSpec, profile: Profile) -> Iterator[str]:
    """Tell the profile to a person, in full."""
    need = kind_of(agent).need
    yield f"agent {agent.name} ({agent.kind}) will be started for each run, with nobody to ask:"
    yield f"  command    {shlex.join(profile.command)}"
    yield f"  variables  {' '.join(f'{name}={value}' for name, value in profile.variables.items())}"
    yield f"  may see    {', '.join(profile.passed) or '(no credential)'}"
    if need is not None:
        yield f"  release    {need.oldest} or later"
    for path, text in profile.files.items():
        yield f"  file       {path}, written anew for each run:"
        yield ""
        yield from (f"    {line}".rstrip() for line in text.splitlines())
        yield ""
    if not profile.files:
        yield "  it has no hooks and no profile of its own: only the sandbox holds it"
    yield f"{RUN} stands for the run's folder, {WORKTREE} for its worktree; your own settings are not touched"
