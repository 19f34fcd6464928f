"""Codex, headless: how it is started, and what its stream means.

Must not pass a credential on a command line: the prompt goes in by stdin, keys by the environment.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.environ import current, search_path
from autopilot.runner.agents.adapter import Launch
from autopilot.runner.agents.codex_ledger import CodexLedger
from autopilot.runner.agents.codex_profile import CODEX_KEY, config_text
from autopilot.runner.agents.codex_provider import pointed_to, provider_in
from autopilot.runner.agents.codex_stream import CodexStream
from autopilot.runner.agents.codex_verdict import judge
from autopilot.runner.agents.kind import Kind
from autopilot.runner.agents.release import Need, Release
from autopilot.runner.agents.sign_in import OPENAI_URL, Inside, Outside, set_among
from autopilot.runner.network.calls import RESPONSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.adapter import AgentReport, Ending, Order
    from autopilot.runner.agents.codex_provider import Provider
    from autopilot.runner.agents.events import AgentEvent
    from autopilot.schemas.run import AgentSpec, Usage

_BASE, _LOGIN, _VENDORS_KEY = "OPENAI_BASE_URL", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY"
_KEYS = (CODEX_KEY, _LOGIN, _VENDORS_KEY)
"""In the order in which the client takes them."""
_CHATGPT_URL = "https://chatgpt.com"
_NATIVE = "@openai/codex-*/vendor/*/bin/codex"
_PACKAGES = "node_modules"


class CodexAgent:
    """One `codex exec` process."""

    def __init__(self) -> None:
        """Start with an unread stream."""
        self._stream = CodexStream()

    def check(self, spec: AgentSpec) -> None:
        """Nothing of it is obligatory."""

    def launch(self, order: Order) -> Launch:
        """Ask for the event stream, under a configuration of ours in a home of its own."""
        home = order.private / "codex"
        self._stream = CodexStream(CodexLedger(home / "sessions"))
        self._stream.prices, self._stream.model = order.agent.prices, order.agent.model or ""
        program, *rest = order.agent.argv or ("codex",)
        service, provider = order.broker.base_url if order.broker else None, provider_in(rest)
        if service and provider:
            rest, service = [*rest, *pointed_to(provider.name, service)], None
        return Launch(
            argv=(
                *(native(program), *rest, "exec", "--json", "--skip-git-repo-check", "--strict-config"),
                # There are no hooks but ours: nothing else is loaded that could name one.
                *(("--dangerously-bypass-hook-trust",) if order.guard else ()),
                "-",
            ),
            passes=(*_KEYS, *order.agent.env_pass),
            extra={"CODEX_HOME": str(home), "SHELL": "/bin/bash"},
            stdin=order.prompt.read_bytes(),
            files={
                home / "config.toml": config_text(
                    model=order.agent.model,
                    worktree=order.worktree,
                    guard=order.guard,
                    is_confined=order.is_confined,
                    service=service,
                )
            },
            writable=(home,),
        )

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Take the next piece of the stream."""
        return self._stream.feed(chunk)

    def finish(self, ending: Ending) -> AgentReport:
        """Judge how it ended."""
        self._stream.end()
        return judge(self._stream, ending)

    def usage(self) -> Usage:
        """Give its counters as they stand; what the request under way costs is not known."""
        self._stream.look()
        return self._stream.usage(is_whole=False)


def native(program: str) -> str:
    """Give the native program behind npm's launcher, or the program itself where there is none.

    The launcher is a Node.js script that a KILL ends alone. Source: docs/decisions/0126.
    """
    found = shutil.which(program, path=search_path(current()))
    script = Path(found).resolve() if found else None
    if script is None or script.suffix != ".js":
        return program
    homes = [folder for folder in script.parents if folder.name == _PACKAGES]
    homes += [folder / _PACKAGES for folder in script.parents if (folder / "package.json").is_file()]
    for home in homes:
        for candidate in sorted(home.glob(_NATIVE)):
            if shutil.which(str(candidate)):
                return str(candidate)
    return program


def _sign_in(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | Inside | None:
    """Take the key that the client takes: its own, else a ChatGPT sign-in, else the vendor's key."""
    provider = provider_in(spec.argv)
    if provider is not None:
        return _of_a_provider(provider, spec, environment)
    name = next((name for name in _KEYS if environment.get(name)), None)
    if name is None:
        return None
    if name == _LOGIN:
        hint = f"set {CODEX_KEY} instead of {_LOGIN}, if the account has keys"
        return Inside((name,), "a ChatGPT sign-in is only taken at addresses of its own", hint)
    passed = set_among(spec.env_pass, environment)
    return Outside(
        url=passed.get(_BASE) or f"{OPENAI_URL}/v1",
        base_variable="",
        calls=RESPONSES,
        keys={CODEX_KEY: environment[name]},
        hidden=(*_KEYS, _BASE),
        held=(name,),
    )


def _of_a_provider(
    provider: Provider, spec: AgentSpec, environment: Mapping[str, str]
) -> Outside | Inside | None:
    own = (*_KEYS, *spec.env_pass)
    name = provider.key_variable
    if provider.url and name in own and environment.get(name):
        hidden = tuple(each for each in _KEYS if each != name)
        keys = {name: environment[name]}
        return Outside(url=provider.url, base_variable="", calls=RESPONSES, keys=keys, hidden=hidden)
    held = set_among(own, environment)
    reason = f"the provider {provider.name!r} in its argv tells no base_url and env_key here"
    return Inside(tuple(held), reason, "name both in the table of the provider") if held else None


KIND = Kind(
    adapter=CodexAgent,
    sign_in=_sign_in,
    asks_guard=True,
    program="codex",
    need=Need(
        Release(0, 171, 0),
        "how the hooks of older ones fail, and what their settings are called, is not known",
        "update it: npm install -g @openai/codex@latest",
    ),
    variables=_KEYS,
    keys=_KEYS,
    paid=(CODEX_KEY, _VENDORS_KEY),
    subscribed=(_LOGIN,),
    homes=("CODEX_HOME",),
    services=(OPENAI_URL, _CHATGPT_URL),
    base_variable=_BASE,
)
