"""Whether what signs an agent in can stay outside of its cell, and what is put in its place.

Pure. Must not guess: where it is not known how a client is pointed to another address, its sign-in goes
inside, and this says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.runner.agents.codex_provider import provider_in
from autopilot.runner.network.broker import CONTENTS, MESSAGES, RESPONSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.agents.codex_provider import Provider
    from autopilot.runner.network.broker import Call
    from autopilot.schemas.run import AgentSpec

ANTHROPIC_URL = "https://api.anthropic.com"
CLAUDE_BASE = "ANTHROPIC_BASE_URL"
OPENAI_URL, CHATGPT_URL = "https://api.openai.com", "https://chatgpt.com"
CODEX_BASE, CODEX_KEY, CODEX_TOKEN = "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"
CODEX_KEYS = (CODEX_KEY, CODEX_TOKEN, "OPENAI_API_KEY")
CLAUDE_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
GEMINI_URL, GEMINI_BASE = "https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL"
GEMINI_KEY = "GEMINI_API_KEY"
COPILOT_BASE, COPILOT_KEY = "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY"
OPENCODE_KEYS: Mapping[str, str] = MappingProxyType(
    {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
)
"""By the provider that the model of opencode begins with: the variable of its key."""
_CLAUDE_ELSEWHERE = "CLAUDE_CODE_USE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """A sign-in that stays outside.

    `keys` are the values of its variables, which hold stand-ins inside; `base_variable` is told the address
    inside (empty: the adapter tells it otherwise); those that are `hidden` are not set there. `held`: what
    the variables are called outside, where that is another name.
    """

    url: str
    base_variable: str
    calls: tuple[Call, ...]
    keys: Mapping[str, str] = field(repr=False)
    hidden: tuple[str, ...] = ()
    held: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """Give the names by which they are set outside."""
        return self.held or tuple(self.keys)


@dataclass(frozen=True, slots=True)
class Inside:
    """A sign-in that goes inside, and why."""

    variables: tuple[str, ...]
    reason: str
    hint: str


def sign_in(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | Inside | None:
    """Say where what signs an agent in is held; None: nothing of it is set.

    Args:
        spec: the agent.
        environment: where its variables are set.
    """
    match spec.kind:
        case "claude":
            found = _claude(spec, environment)
        case "codex":
            found = _codex(spec, environment)
        case "copilot":
            found = _copilot(environment)
        case "gemini":
            found = _gemini(environment)
        case "opencode":
            found = _opencode(spec, environment)
        case _:
            found = _of_a_command(spec, environment)
    if spec.broker == "off" and isinstance(found, Outside):
        return Inside(found.variables, 'broker = "off"', 'set broker = "auto" for the agent')
    return found


def _claude(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | Inside | None:
    keys = _set_among(CLAUDE_KEYS, environment)
    elsewhere = [name for name in spec.env_pass if name.startswith(_CLAUDE_ELSEWHERE) and name in environment]
    if elsewhere:
        held = tuple(name for name in (*keys, *spec.env_pass) if environment.get(name))
        return Inside(held, f"{elsewhere[0]} names a service that is signed for otherwise", _SHORT_LIVED)
    if not keys:
        return None
    url = environment.get(CLAUDE_BASE) or ANTHROPIC_URL
    return Outside(url=url, base_variable=CLAUDE_BASE, calls=MESSAGES, keys=keys)


def _codex(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | Inside | None:
    """Take the key that the client takes: its own, else a ChatGPT sign-in, else the vendor's key."""
    provider = provider_in(spec.argv)
    if provider is not None:
        return _of_a_provider(provider, spec, environment)
    name = next((name for name in CODEX_KEYS if environment.get(name)), None)
    if name is None:
        return None
    if name == CODEX_TOKEN:
        hint = f"set {CODEX_KEY} instead of {CODEX_TOKEN}, if the account has keys"
        return Inside((name,), "a ChatGPT sign-in is only taken at addresses of its own", hint)
    passed = {each: environment[each] for each in spec.env_pass if environment.get(each)}
    return Outside(
        url=passed.get(CODEX_BASE) or f"{OPENAI_URL}/v1",
        base_variable="",
        calls=RESPONSES,
        keys={CODEX_KEY: environment[name]},
        hidden=(*CODEX_KEYS, CODEX_BASE),
        held=(name,),
    )


def _copilot(environment: Mapping[str, str]) -> Outside | None:
    """With a provider of the operator's own, which speaks the Messages API."""
    keys = _set_among((COPILOT_KEY,), environment)
    url = environment.get(COPILOT_BASE) or ANTHROPIC_URL
    return Outside(url=url, base_variable=COPILOT_BASE, calls=MESSAGES, keys=keys) if keys else None


def _gemini(environment: Mapping[str, str]) -> Outside | None:
    """Its settings are ours, and let it sign in by this key alone."""
    keys = _set_among((GEMINI_KEY,), environment)
    url = environment.get(GEMINI_BASE) or GEMINI_URL
    return Outside(url=url, base_variable=GEMINI_BASE, calls=CONTENTS, keys=keys) if keys else None


def _opencode(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | None:
    """Its configuration is ours: it names one provider, that of the model."""
    provider = (spec.model or "").partition("/")[0]
    name = OPENCODE_KEYS.get(provider, "")
    keys = _set_among((name,), environment)
    if not keys:
        return None
    calls = MESSAGES if provider == "anthropic" else RESPONSES
    hidden = tuple(each for each in OPENCODE_KEYS.values() if each != name)
    url = _opencode_root(provider, spec.api)
    return Outside(url=url, base_variable="", calls=calls, keys=keys, hidden=hidden)


def opencode_service(provider: str, brokered: str | None, api: tuple[str, ...]) -> str:
    """Give the base address that opencode is told: its libraries want the version of the API in it.

    Args:
        provider: one of those that have a key.
        brokered: where the key broker is; None = there is none.
        api: what the operator names.
    """
    root = brokered or _opencode_root(provider, api)
    return f"{root}/v1" if provider == "anthropic" else root


def _opencode_root(provider: str, api: tuple[str, ...]) -> str:
    return api[0] if api else ANTHROPIC_URL if provider == "anthropic" else f"{OPENAI_URL}/v1"


def _of_a_provider(
    provider: Provider, spec: AgentSpec, environment: Mapping[str, str]
) -> Outside | Inside | None:
    own = (*CODEX_KEYS, *spec.env_pass)
    name = provider.key_variable
    if provider.url and name in own and environment.get(name):
        hidden = tuple(each for each in CODEX_KEYS if each != name)
        keys = {name: environment[name]}
        return Outside(url=provider.url, base_variable="", calls=RESPONSES, keys=keys, hidden=hidden)
    held = _set_among(own, environment)
    reason = f"the provider {provider.name!r} in its argv tells no base_url and env_key here"
    return Inside(tuple(held), reason, "name both in the table of the provider") if held else None


def _of_a_command(spec: AgentSpec, environment: Mapping[str, str]) -> Outside | Inside | None:
    if spec.base_url_env and spec.key_env and spec.api:
        keys, calls = _set_among((spec.key_env,), environment), (*MESSAGES, *RESPONSES)
        if not keys:
            return None
        return Outside(url=spec.api[0], base_variable=spec.base_url_env, calls=calls, keys=keys)
    held = _set_among(spec.env_pass, environment)
    hint = "set base_url_env and key_env of the agent, if its program asks where a variable says"
    return Inside(tuple(held), "it is not known how its program is told an address", hint) if held else None


def _set_among(names: tuple[str, ...], environment: Mapping[str, str]) -> Mapping[str, str]:
    return {name: environment[name] for name in names if environment.get(name)}


_SHORT_LIVED = "give it a credential that ends soon and may do nothing else"
