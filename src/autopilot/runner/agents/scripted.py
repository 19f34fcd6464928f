"""The scripted agent: plays a YAML script instead of asking a model. The demo and the tests run on it.

Must not import the player: it is another process, which the target's worktree is the folder of.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.runner.agents.adapter import Launch
from autopilot.runner.agents.command import CommandAgent, passed, sign_in_of_a_command, told
from autopilot.runner.agents.kind import Kind
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from autopilot.runner.agents.adapter import Order
    from autopilot.schemas.run import AgentSpec

_PACKAGE = "autopilot.runner.agents"
_PLAYER = "scripted_player.py"


class ScriptedAgent(CommandAgent):
    """One process of the player; it speaks the command agent's language."""

    def check(self, spec: AgentSpec) -> None:
        """Make sure that there is a script to play.

        Raises:
            ConfigError: the agent has none, or it is not there.
        """
        if spec.script is None or not spec.script.is_file():
            what = f"the agent {spec.name!r} has no script at {spec.script}"
            raise ConfigError("agent-without-script", what, hint='set script = "/path/to/script.yaml"')

    def launch(self, order: Order) -> Launch:
        """Start the player by its file: it must run where the package itself cannot be imported.

        Raises:
            ConfigError: the agent has no script, or it is not there.
        """
        self.check(order.agent)
        self._reckon_by(order.agent)
        return Launch(
            argv=(
                *(order.agent.argv or (sys.executable, "-P", str(resources.files(_PACKAGE) / _PLAYER))),
                *("--script", str(order.agent.script)),
                *("--attempt", str(order.attempt), "--round", str(order.round_no)),
                *("--answers", json.dumps(order.answers)),
            ),
            passes=passed(order.agent),
            extra=told(order),
            readable=(order.agent.script,) if order.agent.script else (),
        )


KIND = Kind(adapter=ScriptedAgent, sign_in=sign_in_of_a_command, asks_guard=False)
