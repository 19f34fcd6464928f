"""opencode, headless: how it is started.

Must not pass a credential on a command line: the prompt goes in by stdin, the key by the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.agents.adapter import Launch
from autopilot.runner.agents.opencode_profile import NO_LIBRARY, QUIET, config_text, plugin_text
from autopilot.runner.agents.opencode_stream import OpencodeStream
from autopilot.runner.agents.sign_in import OPENCODE_KEYS, opencode_service
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from autopilot.runner.agents.adapter import AgentReport, Ending, Order
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.schemas.run import AgentSpec, Usage

AUTH_VARIABLES = tuple(OPENCODE_KEYS.values())
_FOLDERS = ("config", "data", "state", "cache")
_TITLE = "ticket"
"""Given, so that no model is asked for one."""


class OpencodeAgent:
    """One `opencode run` process."""

    def __init__(self) -> None:
        """Start with an unread stream."""
        self._stream = OpencodeStream()

    def check(self, spec: AgentSpec) -> None:
        """Make sure that its model names a provider whose API and key are known.

        Raises:
            ConfigError: it does not.
        """
        provider, _, name = (spec.model or "").partition("/")
        if provider not in OPENCODE_KEYS or not name:
            what = f"the agent {spec.name!r} has the model {spec.model!r}, whose provider is not known"
            known = ", ".join(f"{each}/…" for each in OPENCODE_KEYS)
            raise ConfigError("agent-model-unknown", what, hint=f"set its model to one of {known}")

    def launch(self, order: Order) -> Launch:
        """Ask for the event stream, under a configuration of ours in folders of its own.

        Raises:
            ConfigError: the provider of its model is not known.
        """
        self.check(order.agent)
        model = order.agent.model or ""
        provider, _, name = model.partition("/")
        self._stream = OpencodeStream(name, order.agent.prices)
        home, plugin = order.private / "opencode", order.private / "opencode-guard.js"
        config, theirs = order.private / "opencode.json", home / "config" / "opencode"
        service = opencode_service(provider, order.broker.base_url if order.broker else None, order.agent.api)
        return Launch(
            argv=(
                *(order.agent.argv or ("opencode",)),
                *("run", "--format", "json", "--title", _TITLE, "--model", model),
            ),
            passes=(*AUTH_VARIABLES, *order.agent.env_pass),
            extra={
                **QUIET,
                "OPENCODE_CONFIG": str(config),
                **{f"XDG_{folder.upper()}_HOME": str(home / folder) for folder in _FOLDERS},
            },
            stdin=order.prompt.read_bytes(),
            files={
                config: config_text(
                    model=model,
                    service=service,
                    key_variable=OPENCODE_KEYS[provider],
                    plugin=str(plugin),
                ),
                plugin: plugin_text(order.guard, has_shell=order.is_confined),
                **{theirs / each: content for each, content in NO_LIBRARY.items()},
            },
            writable=(*(home / folder for folder in _FOLDERS), theirs / "node_modules"),
        )

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of the stream."""
        return self._stream.feed(chunk)

    def finish(self, ending: Ending) -> AgentReport:
        """Judge how it ended."""
        self._stream.end()
        return self._stream.report(ending)

    def usage(self) -> Usage:
        """Give its counters as they stand; what the request under way costs is not known."""
        return self._stream.usage(is_whole=False)
