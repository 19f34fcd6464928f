"""Where a run may go, and whether one request goes there.

Pure. Must not let through what it does not fully understand; everything not listed is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from autopilot.runner.network.names import Refusal, Target, read_target

if TYPE_CHECKING:
    from collections.abc import Iterable

HTTP_PORT, HTTPS_PORT = 80, 443
_READING = frozenset({"GET", "HEAD"})
_SCHEME = "http://"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One host and port that may be reached.

    `is_tls`: what goes there must begin as TLS for this very name. `writes`: it may be sent anything; other
    places are only read from. `may_be_near`: its address may be one of this machine or its neighbours.
    """

    target: Target
    is_tls: bool
    writes: bool = False
    may_be_near: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as the client wrote it.

    `has_body`: something would follow the head. `has_two_lengths`: where that ends is said in two ways.
    """

    method: str
    target: str
    hosts: tuple[str, ...]
    has_body: bool = False
    has_two_lengths: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """A request that may go on: where to, and for plain HTTP the path to ask there for (None: a tunnel)."""

    endpoint: Endpoint
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The list. `brokered` is a host that is reached in another way: by calls that the key broker signs."""

    endpoints: tuple[Endpoint, ...] = ()
    brokered: str | None = None

    def judge(self, asked: Asked) -> Way | Refusal:
        """Say where a request goes, or why it does not go anywhere."""
        if asked.method.upper() == "CONNECT":
            return self._tunnel(asked)
        return self._plain(asked)

    @property
    def names(self) -> tuple[str, ...]:
        """Every host of the list."""
        return tuple(dict.fromkeys(each.target.host for each in self.endpoints))

    def _tunnel(self, asked: Asked) -> Way | Refusal:
        target = read_target(asked.target)
        endpoint = target if isinstance(target, Refusal) else self._listed(target, asked)
        if isinstance(endpoint, Refusal):
            return endpoint
        if not endpoint.is_tls and not endpoint.writes:
            return Refusal(
                "tunnel-plain", "a tunnel to this port could carry anything; ask for the page itself"
            )
        return Way(endpoint)

    def _plain(self, asked: Asked) -> Way | Refusal:
        if asked.target[: len(_SCHEME)].lower() != _SCHEME:
            return Refusal(
                "not-for-a-proxy", "ask with CONNECT, or for a whole address that begins with http://"
            )
        rest = asked.target[len(_SCHEME) :]
        end = next((index for index, char in enumerate(rest) if char in "/?#\\"), len(rest))
        authority, path = rest[:end], rest[end:] or "/"
        if "#" in path or "\\" in path or not path.isascii():
            return Refusal("path-malformed", "the path holds what no path may hold")
        target = read_target(authority, default_port=HTTP_PORT)
        endpoint = target if isinstance(target, Refusal) else self._listed(target, asked)
        if isinstance(endpoint, Refusal):
            return endpoint
        if endpoint.is_tls:
            return Refusal("not-encrypted", "this port speaks TLS only; ask with CONNECT")
        if not endpoint.writes and asked.method not in _READING:
            return Refusal("method", f"only {' and '.join(sorted(_READING))} may be used here")
        if not endpoint.writes and asked.has_body:
            return Refusal("body", "nothing may be sent here")
        if asked.has_two_lengths:
            return Refusal("framing", "the body has two lengths")
        return Way(endpoint, path if path.startswith("/") else f"/{path}")

    def _listed(self, target: Target, asked: Asked) -> Endpoint | Refusal:
        for host in asked.hosts:
            if read_target(host, default_port=target.port) != target:
                return Refusal("host-mismatch", "the Host header names another place than the request")
        found = next((each for each in self.endpoints if each.target == target), None)
        if found is not None:
            return found
        if target.host == self.brokered:
            return Refusal("brokered", "the model's service is asked by its base address, not by a tunnel")
        if target.is_address:
            return Refusal("ip-literal", "an address written as a number is never allowed; use the name")
        if target.host in self.names:
            return Refusal("port", f"{target.host} may not be reached at port {target.port}")
        return Refusal("host", f"{target.host} is not among the hosts that this run may reach")


def reading_from(hosts: Iterable[str], *, near: Iterable[str] = ()) -> tuple[Endpoint, ...]:
    """List hosts that may be read from at the two usual ports.

    Args:
        hosts: plain names.
        near: those of them whose address may be a private one.
    """
    allowed_near = frozenset(near)
    return tuple(
        Endpoint(target=Target(host, port), is_tls=port == HTTPS_PORT, may_be_near=host in allowed_near)
        for host in dict.fromkeys(hosts)
        for port in (HTTPS_PORT, HTTP_PORT)
    )


def service_at(url: str) -> Endpoint | None:
    """List the service at an address that the operator has named, wherever it is; None: it names none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    usual = {"http": HTTP_PORT, "https": HTTPS_PORT}.get(parts.scheme)
    if usual is None or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    target = read_target(f"{host}:{port or usual}")
    if isinstance(target, Refusal):
        return None
    return Endpoint(target=target, is_tls=parts.scheme == "https", writes=True, may_be_near=True)
