"""Whether what is sent to an address can be read on the way: it cannot where it never leaves this machine.

Must not resolve a name.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def goes_in_clear(url: str) -> bool:
    """Tell whether an http address leaves this machine. ValueError: it is no address."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not stays_here(parts.hostname or "")


def stays_here(host: str) -> bool:
    """Tell whether a host is this machine itself, by the name or an address that nobody else can have."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
