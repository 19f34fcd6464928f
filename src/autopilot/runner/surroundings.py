"""What stands around an agent's process: its sandbox, what it may touch there, its environment.

Must not start anything but through the sandbox's door.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from autopilot.config.environ import agent_environment, current, search_path
from autopilot.config.removal import remove_tree
from autopilot.runner.sandbox.door import run_inside
from autopilot.runner.sandbox.rooms import room_of_agent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.config.proc import Exit
    from autopilot.runner.agents.adapter import Launch, Order
    from autopilot.runner.sandbox.confinement import Confinement, Sandbox
    from autopilot.runner.sandbox.door import Rules
    from autopilot.runner.shop import Shop
    from autopilot.runner.way_out import WayOut
    from autopilot.runner.worktree import Workspace

# Maintenance that detaches itself would be ended with the agent, and leave half a pack behind each time.
_GIT_CONFIG = """\
[commit]
	gpgsign = false
[gc]
	auto = 0
	autoDetach = false
[maintenance]
	auto = false
	autoDetach = false
"""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """One agent's, for one round."""

    sandbox: Sandbox
    room: Confinement
    env: Mapping[str, str]

    @classmethod
    def of(
        cls,
        shop: Shop,
        order: Order,
        launch: Launch,
        workspace: Workspace,
        *,
        way: WayOut,
        guard_socket: Path | None,
    ) -> Surroundings:
        """Lay them out, with what signs the agent in covered where it can be; makes what has to be there.

        Raises:
            OSError: it cannot be made.
        """
        room = _room(shop, order, launch, workspace)
        env = way.covered(environment(shop, launch))
        return cls(shop.sandbox, replace(room, guard_socket=guard_socket), env)

    def through(self, way: WayOut) -> Surroundings:
        """Give them a way out."""
        return replace(self, room=way.opened(self.room), env={**self.env, **way.environment()})

    def run(self, argv: Sequence[str], **rules: Unpack[Rules]) -> Exit:
        """Run a program in them, as `run_inside`.

        Raises:
            SandboxError: the sandbox did not come up.
        """
        return run_inside(self.sandbox, self.room, argv, env=self.env, **rules)


def _room(shop: Shop, order: Order, launch: Launch, workspace: Workspace) -> Confinement:
    """Lay out what the agent may touch; what its operator wrote into its command, it may read."""
    named = (Path(word) for word in order.agent.argv if word.startswith("/"))
    program = shutil.which(launch.argv[0], path=search_path(current())) or ""
    room = room_of_agent(
        shop.spec,
        workspace,
        program=program,
        readable=(order.prompt, *(each for each in named if each.is_file()), *launch.readable),
        writable=(shop.tmp, *launch.writable),
    )
    return replace(room, cwd=launch.cwd or room.cwd, protected=(*room.protected, *launch.files))


def environment(shop: Shop, launch: Launch) -> dict[str, str]:
    """Build the agent's environment: its own credentials, our mark, a HOME with the recorded identity."""
    home, spec = shop.spec.run_dir / "home", shop.spec
    identity = f"[user]\n\tname = {_quoted(spec.identity.name)}\n\temail = {_quoted(spec.identity.email)}\n"
    # An agent of an earlier round owns this folder: what it has put in our file's place is never written to.
    remove_tree(home / ".gitconfig")
    with (home / ".gitconfig").open("x", encoding="utf-8") as file:
        file.write(identity + _GIT_CONFIG)
    return agent_environment(
        None,
        home=home,
        passed=spec.repo.env_pass,
        own=launch.passes,
        extra={"TMPDIR": str(shop.tmp), **launch.extra},
    )


def _quoted(value: str) -> str:
    """Quote a value for a git configuration file. Source: git-config(1), "Syntax"."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
