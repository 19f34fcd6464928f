"""How an HTTP client of ours gets to a server: through the proxy of this host, or past it.

Must not send anything, and must not show a proxy's login. What is in the way is told before anything is sent.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from autopilot.config.clear import stays_here
from autopilot.config.environ import current
from autopilot.config.outward import outward
from autopilot.schemas.errors import ConfigError

_CERTIFICATES = "let SSL_CERT_FILE name the certificates of whom this machine trusts, or unset it"


def transport(url: str) -> httpx.HTTPTransport:
    """Give what carries requests to this one server; nothing is connected yet.

    Raises:
        ConfigError: the proxy that the environment names is none that we speak to, or its certificates are
            none.
    """
    try:
        return httpx.HTTPTransport(proxy=_proxy(url))
    except OSError as exc:
        what = f"the certificates that SSL_CERT_FILE names cannot be read ({type(exc).__name__})"
        raise ConfigError("certificates-unusable", what, hint=_CERTIFICATES) from exc


def _proxy(url: str) -> httpx.Proxy | None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if stays_here(host):  # whatever the environment says, it is none of this one's business
        return None
    found = outward(current()).proxy_for(host, is_tls=parts.scheme == "https")
    if found is None:
        return None
    at = f"[{found.host}]" if ":" in found.host else found.host
    login = {"Proxy-Authorization": found.authorization} if found.authorization else None
    return httpx.Proxy(f"http://{at}:{found.port}", headers=login)
