"""What a plain host name is: one that every program understands in the same way.

Pure. Must not look a name up. Stdlib only.
"""

from __future__ import annotations

import re

MAX_HOST_CHARS = 253
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# What every client takes for a number, in any base that inet_aton knows, and not for a name.
# Source: https://url.spec.whatwg.org/#ends-in-a-number-checker
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def is_number(host: str) -> bool:
    """Tell whether a host is an address in any way of writing one, brackets aside."""
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def host_fault(host: str) -> str | None:
    """Say why this is no plain host name in lower case, or None."""
    if host.endswith("."):
        return "ends in a dot"
    if is_number(host):
        return "is an address written as a number"
    if len(host) > MAX_HOST_CHARS or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        return "is no plain name of lower-case letters, digits, hyphens and dots"
    return None
