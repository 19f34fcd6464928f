"""The scripted agent: plays a YAML script instead of asking a model. The demo and the tests run on it.

Must not import the player: it is another process, which the target's worktree is the folder of.
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.runner.agents.adapter import Launch
from autopilot.runner.agents.command import PROMPT_VARIABLE, CommandAgent
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from autopilot.runner.agents.adapter import Order

_PACKAGE = "autopilot.runner.agents"
_PLAYER = "scripted_player.py"


class ScriptedAgent(CommandAgent):
    """One process of the player; it speaks the command agent's language."""

    def launch(self, order: Order) -> Launch:
        """Start the player by its file: it must run where the package itself cannot be imported.

        Raises:
            ConfigError: the agent has no script, or it is not there.
        """
        script = order.agent.script
        if script is None or not script.is_file():
            what = f"the agent {order.agent.name!r} has no script at {script}"
            raise ConfigError("agent-without-script", what, hint='set script = "/path/to/script.yaml"')
        return Launch(
            argv=(
                *(order.agent.argv or (sys.executable, "-P", str(resources.files(_PACKAGE) / _PLAYER))),
                *("--script", str(script)),
                *("--attempt", str(order.attempt), "--round", str(order.round_no)),
                *("--answers", json.dumps(order.answers)),
            ),
            passes=order.agent.env_pass,
            extra={PROMPT_VARIABLE: str(order.prompt)},
        )
