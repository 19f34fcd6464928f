"""Reads the name and port that a client asks for, so strictly that there is one way only to understand them.

Pure. Must not look a name up. What is not surely a plain host name is refused, never repaired.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

MAX_NAME_CHARS = 253
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LAST_PORT = 65535
# What every client takes for a number, in any base that inet_aton knows, and not for a name.
# Source: https://url.spec.whatwg.org/#ends-in-a-number-checker
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is not let through: a kebab-case word, and a sentence for whoever asked."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Target:
    """A host, lower-case, and a port. An address written as a number is not a name, but may be listed."""

    host: str
    port: int
    is_address: bool = False

    def __str__(self) -> str:
        """Write it as in a request."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_target(text: str, *, default_port: int | None = None) -> Target | Refusal:
    """Read `host:port`, or `host` where there is a default.

    ASCII letters are folded, for names are the same in either case; nothing else is changed.
    """
    if not text.isascii() or any(not "!" <= char <= "~" for char in text):
        return Refusal("host-malformed", "the host holds a blank, a control or a foreign character")
    if "@" in text:
        return Refusal("userinfo", "a user name stands before the host")
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", text)
    host, port = bracketed.groups() if bracketed else _split(text)
    number = _port(port, default_port)
    if number is None:
        return Refusal("port-malformed", "the port is missing, or no number from 1 to 65535")
    read = _address(host) if bracketed else _name(host.lower())
    return read if isinstance(read, Refusal) else Target(read[0], number, is_address=read[1])


def _split(text: str) -> tuple[str, str | None]:
    host, colon, port = text.partition(":")
    return host, port if colon else None


def _port(text: str | None, default: int | None) -> int | None:
    if text is None:
        return default
    return int(text) if _PORT.fullmatch(text) and int(text) <= _LAST_PORT else None


def _address(text: str) -> tuple[str, bool] | Refusal:
    try:
        return str(ipaddress.IPv6Address(text)), True
    except ValueError:
        return Refusal("host-malformed", "what stands in brackets is no address")


def _name(host: str) -> tuple[str, bool] | Refusal:
    if host.endswith("."):
        return Refusal("trailing-dot", "the host ends in a dot")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return host, True
    if len(host) > MAX_NAME_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        return Refusal("host-malformed", "the host is no plain name of letters, digits, hyphens and dots")
    return host, False
