"""opencode, headless: how it is started.

Must not pass a credential on a command line: the prompt goes in by stdin, the key by the environment.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autopilot.runner.agents.adapter import Launch
from autopilot.runner.agents.kind import Kind
from autopilot.runner.agents.opencode_profile import (
    NO_LIBRARY,
    QUIET,
    config_text,
    configured_by,
    plugin_text,
)
from autopilot.runner.agents.opencode_provider import PROVIDERS, provider_of
from autopilot.runner.agents.opencode_stream import OpencodeStream
from autopilot.runner.agents.release import Need, Release
from autopilot.runner.agents.sign_in import Outside, set_among
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import AgentReport, Ending, Order
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.runner.agents.opencode_provider import Provider
    from autopilot.schemas.run import AgentSpec, Usage

_KEYS = tuple(each.key for each in PROVIDERS.values())
_FOLDERS = ("config", "data", "state", "cache")
_TITLE = "ticket"
"""Given, so that no model is asked for one."""
_CONFIGURED = "take it out of the branch that runs begin from, or let another agent work here"


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
        _provider(spec)

    def launch(self, order: Order) -> Launch:
        """Ask for the event stream, under a configuration of ours in folders of its own.

        It is started outside of the worktree, whose `tsconfig.json` could put a file in our plugin's place.

        Raises:
            ConfigError: the provider of its model is not known, or the repository has plugins of its own.
        """
        theirs = configured_by(order.worktree)
        if theirs is not None:
            what = f"the repository's {theirs} would be loaded beside the plugin that asks the guard"
            raise ConfigError("agent-configured-by-repository", what, hint=_CONFIGURED)
        provider, model = _provider(order.agent), order.agent.model or ""
        self._stream = OpencodeStream(model.partition("/")[2], order.agent.prices)
        home, plugin = order.private / "opencode", order.private / "opencode-guard.js"
        config, library = order.private / "opencode.json", home / "config" / "opencode"
        service = provider.base_url(order.broker.base_url if order.broker else None, order.agent.api)
        return Launch(
            argv=(
                *(order.agent.argv or ("opencode",)),
                *("run", "--dir", str(order.worktree)),
                *("--format", "json", "--title", _TITLE, "--model", model),
            ),
            passes=(provider.key, *order.agent.env_pass),
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
                    key_variable=provider.key,
                    plugin=str(plugin),
                ),
                plugin: plugin_text(order.guard, has_shell=order.is_confined),
                **{library / each: content for each, content in NO_LIBRARY.items()},
            },
            writable=(*(home / folder for folder in _FOLDERS), library / "node_modules"),
            cwd=home,
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


def _provider(spec: AgentSpec) -> Provider:
    """Give the provider of its model.

    Raises:
        ConfigError: it is not known.
    """
    provider = provider_of(spec.model)
    if provider is None:
        what = f"the agent {spec.name!r} has the model {spec.model!r}, whose provider is not known"
        known = ", ".join(f"{each}/…" for each in PROVIDERS)
        raise ConfigError("agent-model-unknown", what, hint=f"set its model to one of {known}")
    return provider


def _sign_in(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | None:
    """Its configuration is ours: it names one provider, that of the model."""
    provider = provider_of(spec.model)
    keys = set_among((provider.key,), environment) if provider else {}
    if provider is None or not keys:
        return None
    hidden = tuple(each for each in _KEYS if each != provider.key)
    url = provider.root(spec.api)
    return Outside(url=url, base_variable="", calls=provider.calls, keys=keys, hidden=hidden)


def _of_model(kind: Kind, spec: AgentSpec) -> Kind:
    """Leave the key and the service of its model's provider: another's is of no use to it, or a way out."""
    provider = provider_of(spec.model)
    if provider is None:
        return kind
    own = (provider.key,)
    return replace(kind, variables=own, keys=own, paid=own, services=(provider.url,))


KIND = Kind(
    adapter=OpencodeAgent,
    sign_in=_sign_in,
    asks_guard=True,
    program="opencode",
    need=Need(
        Release(1, 18, 33),
        "whether the plugins of older ones can refuse a tool is not known",
        "update it: npm install -g opencode-ai@latest",
    ),
    variables=_KEYS,
    keys=_KEYS,
    paid=_KEYS,
    homes=("XDG_CONFIG_HOME", "XDG_DATA_HOME"),
    of_model=_of_model,
)
