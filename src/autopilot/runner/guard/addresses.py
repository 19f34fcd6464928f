"""Which addresses may be fetched: https, a listed host, nothing that two readers could read differently.

Must not resolve a name or open a connection; the network's own allow-list stands behind this one.
Source: RFC 3986, 3.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Collection

_ADDRESS = re.compile(
    r"https://(?P<host>[A-Za-z0-9.-]+)(?P<path>/[A-Za-z0-9._~:/?#@!&'()*+,;=%-]*|[?#][A-Za-z0-9._~:/?#!&'()*+,;=%-]*)?"
)
# Whatever some resolver takes for a number: 127.1, 0x7f.1, 2130706433.
_NUMERIC = re.compile(r"[0-9.]+|(0[xX][0-9A-Fa-f]*\.?)+.*")
_MAX = 2048


def check_address(address: str, hosts: Collection[str]) -> None:
    """Accept a plain https address of a listed host.

    Raises:
        Refused: anything else; the reason lists the hosts.
    """
    listed = ", ".join(sorted(hosts)) or "none"
    found = _ADDRESS.fullmatch(address)
    if found is None or len(address) > _MAX:
        raise Refused(
            "address-form",
            "an address is https://HOST/PATH, written out: no user, no port, no backslash, braces or "
            "$, no other "
            f"scheme; hosts: {listed}",
        )
    host = found["host"].lower()
    if _NUMERIC.fullmatch(host):
        raise Refused("address-numeric", f"hosts are named, not numbered; hosts: {listed}")
    if host not in hosts:
        raise Refused("host", f"{host} is not on the list of hosts; listed: {listed}")
