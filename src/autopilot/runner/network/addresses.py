"""Tells the public internet from everything nearer: this machine, its neighbours, its provider's services.

Pure. Must not trust a library's notion of `global`: it changes from version to version.
Source: IANA IPv4 and IPv6 Special-Purpose Address Registries; RFC 6052, 2.1 (64:ff9b::/96); RFC 4291,
2.5.5.2 (::ffff:0:0/96).
"""

from __future__ import annotations

import ipaddress

_NOT_PUBLIC_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4"),
            "168.63.129.16/32",  # a cloud's own service at an address that looks public (Azure WireServer)
        ),
    )
)
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"))
)
_CARRIES_V4 = tuple(map(ipaddress.IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96")))
_V4_BITS = 0xFFFFFFFF


def is_public(text: str) -> bool:
    """Tell whether an address, as a resolver gives it, is surely one of the public internet."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if not any(address in network for network in _CARRIES_V4):
            return address in _PUBLIC_V6 and not any(address in network for network in _NOT_PUBLIC_V6)
        address = ipaddress.IPv4Address(int(address) & _V4_BITS)
    return not any(address in network for network in _NOT_PUBLIC_V4)
