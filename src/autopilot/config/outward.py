"""The proxy through which this host itself reaches the outside, as its operator's environment says.

Must not show the credential in it: what is printed of a proxy is its host and port.
Source: curl(1), "ENVIRONMENT": the names in either case, NO_PROXY as names that may be suffixes.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from autopilot.config.clear import stays_here
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_PORT = 80
_HERE = ("localhost", "127.0.0.1", "::1", "127.0.0.0/8")


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where it listens, and the value of its Proxy-Authorization header, if it wants one."""

    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Outward:
    """How each kind of connection leaves this host; None: directly."""

    http: Proxy | None = None
    https: Proxy | None = None
    direct: tuple[str, ...] = ()

    def proxy_for(self, host: str, *, is_tls: bool) -> Proxy | None:
        """Give the proxy that stands between us and a host; nothing stands between us and this machine."""
        is_direct = stays_here(host) or any(
            name in {"*", host} or host.endswith(f".{name}") for name in self.direct
        )
        return None if is_direct else self.https if is_tls else self.http


def outward(environment: Mapping[str, str]) -> Outward:
    """Read how this host gets out.

    Raises:
        ConfigError: `proxy-unusable`: a proxy is named in a form that we do not speak.
    """
    every = _value(environment, "all_proxy")
    names = (name.strip().lower().lstrip(".") for name in _value(environment, "no_proxy").split(","))
    return Outward(
        # HTTP_PROXY in capitals is not read by many, but it is set by whoever wants it read.
        http=_proxy("HTTP_PROXY", _value(environment, "http_proxy") or every),
        https=_proxy("HTTPS_PROXY", _value(environment, "https_proxy") or every),
        direct=tuple(name for name in names if name),
    )


def past_here(environment: Mapping[str, str]) -> dict[str, str]:
    """Give the variables by which a program goes past every proxy to this machine itself.

    Source: curl(1), "NO_PROXY": the small letters come first, and `*` stands alone.
    """
    named = _value(environment, "no_proxy").strip()
    names = named if named == "*" else ",".join(filter(None, (named, *_HERE)))
    return {"no_proxy": names, "NO_PROXY": names}


def _value(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def _proxy(variable: str, url: str) -> Proxy | None:
    if not url:
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port or _DEFAULT_PORT
    except ValueError:
        host, port, parts = None, 0, urlsplit("")
    if host is None or parts.scheme != "http":
        hint = f"set {variable} (or ALL_PROXY) to http://HOST:PORT, or unset it"
        raise ConfigError(
            "proxy-unusable", f"{variable} names a proxy that is not spoken to by http", hint=hint
        )
    if parts.username is None:
        return Proxy(host, port)
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(host, port, f"Basic {base64.b64encode(pair.encode()).decode('ascii')}")
