"""Which provider the model of opencode belongs to: its key, its service, and what may be asked of that.

Pure. Must not guess: a provider that is not named here has none of it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from autopilot.runner.agents.sign_in import ANTHROPIC_URL, OPENAI_URL
from autopilot.runner.network.calls import MESSAGES, RESPONSES, Call

if TYPE_CHECKING:
    from collections.abc import Mapping


class Provider(NamedTuple):
    """One of them.

    `url` is its service, as an operator's `api` names it; `version` is what the client's library wants
    behind that.
    """

    key: str
    url: str
    calls: tuple[Call, ...]
    version: str = ""

    def base_url(self, brokered: str | None, api: tuple[str, ...]) -> str:
        """Give the address that the client is told.

        Args:
            brokered: where the key broker is; None = there is none.
            api: what the operator names.
        """
        return f"{brokered or self.root(api)}{self.version}"

    def root(self, api: tuple[str, ...]) -> str:
        """Give its service: the operator's, else the usual."""
        return api[0] if api else self.url


PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "anthropic": Provider("ANTHROPIC_API_KEY", ANTHROPIC_URL, MESSAGES, "/v1"),
        "openai": Provider("OPENAI_API_KEY", f"{OPENAI_URL}/v1", RESPONSES),
    }
)
"""By what the name of a model begins with."""


def provider_of(model: str | None) -> Provider | None:
    """Give the provider of a model `provider/name`; None: it is not known, or no model is named."""
    name, _, rest = (model or "").partition("/")
    return PROVIDERS.get(name) if rest else None
