"""Whether what is sent to an address can be read on the way.

Must not resolve a name.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def goes_in_clear(url: str) -> bool:
    """Tell whether an http address leaves this machine. ValueError: it is no address."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
