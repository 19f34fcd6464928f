"""Reads the name and port that a client asks for, so strictly that there is one way only to understand them.

Pure. Must not look a name up. What is not surely a plain host name is refused, never repaired.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from autopilot.schemas.hosts import host_fault, is_number

_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LAST_PORT = 65535


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
    if is_number(host):
        return host, True
    if fault := host_fault(host):
        return Refusal("trailing-dot" if host.endswith(".") else "host-malformed", f"the host {fault}")
    return host, False
