"""Keeps an agent's sign-in out of its cell: stand-ins go in, and a broker outside knows what they stand for.

Must not put a credential into anything but the broker. Source: ADR 0141.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from autopilot.config.redactor import MIN_SECRET_CHARS
from autopilot.runner.agents.registry import services_of, sign_in
from autopilot.runner.agents.sign_in import Outside
from autopilot.runner.network.names import Target
from autopilot.runner.network.plan import LOOPBACK, is_same, service
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.network.broker import Broker
    from autopilot.runner.network.policy import Endpoint
    from autopilot.schemas.run import AgentSpec

_STAND_IN_BYTES = 24
_PLAIN_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")


@dataclass(frozen=True, slots=True)
class StandIns:
    """What the variables of a sign-in hold inside, for one process."""

    outside: Outside
    endpoint: Endpoint
    words: Mapping[str, str]
    is_listed: bool = True

    def broker(self, port: int) -> Broker:
        """Give the broker that is found at a port of the loopback inside."""
        from autopilot.runner.network.broker import Broker, Key  # noqa: PLC0415 - few agents have one: HTTP

        keys = self.outside.keys
        return Broker(
            here=Target(LOOPBACK, port, is_address=True),
            endpoint=self.endpoint,
            prefix=_prefix(self.outside.url),
            calls=self.outside.calls,
            keys=tuple(Key(word, keys[name]) for name, word in self.words.items()),
            is_listed=self.is_listed,
        )

    def cover(self, environment: Mapping[str, str], base_url: str) -> dict[str, str]:
        """Give an environment without the credentials, under whatever name they stand there."""
        held = [value for value in self.outside.keys.values() if len(value) >= MIN_SECRET_CHARS]
        clean = {
            name: value
            for name, value in environment.items()
            if name not in self.outside.hidden and not any(each in value for each in held)
        }
        base = {self.outside.base_variable: base_url} if self.outside.base_variable else {}
        return {**clean, **base, **self.words}


def stand_ins(agent: AgentSpec, environment: Mapping[str, str]) -> StandIns | None:
    """Make new ones for an agent; None: nothing signs it in, or that has to go inside.

    Its service is asked only where it is among those that the agent may reach without a broker too.

    Raises:
        ConfigError: `service-unreadable`: the address of its service is none.
    """
    found = sign_in(agent, environment)
    if not isinstance(found, Outside):
        return None
    endpoint = service(found.url)
    _prefix(found.url)
    listed = [service(url) for url in services_of(agent, environment)]
    words = {name: f"autopilot-{secrets.token_hex(_STAND_IN_BYTES)}" for name in found.keys}
    return StandIns(found, endpoint, words, is_listed=any(is_same(each, endpoint) for each in listed))


def _prefix(url: str) -> str:
    """Read the path of a base address.

    Raises:
        ConfigError: it could be read in more than one way.
    """
    path = urlsplit(url).path.rstrip("/")
    if not _PLAIN_PATH.fullmatch(path):
        what = (
            f"the service of the agent has the address {url!r}, whose path can be read in more than one way"
        )
        raise ConfigError("service-unreadable", what, hint="write it without `//`, `..` and `%`")
    return path
