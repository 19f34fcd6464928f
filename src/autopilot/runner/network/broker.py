"""What passes to the model's service through the key broker, and how it is written for it.

Pure. A credential stands in what goes to the service, and must not stand anywhere else. Source: ADR 0141.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import h11

from autopilot.runner.network.names import Refusal, Target, read_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from autopilot.runner.network.calls import Call
    from autopilot.runner.network.policy import Endpoint

# Twice what the vendors take.
MAX_BODY_BYTES = 64 * 1024 * 1024
BETWEEN_US = frozenset(
    {b"connection", b"keep-alive", b"host", b"te", b"trailer", b"upgrade", b"expect", b"alt-svc"}
)
_FRAMING = frozenset({b"transfer-encoding", b"content-length"})
"""In another spelling, which some servers read as this one, they would tell another length of the body."""
_CREDENTIALS = frozenset(
    {b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"cookie", b"set-cookie"}
)
_SIGNS = (b"-authorization", b"-api-key", b"-token")
"""How headers end that could sign a call in beside the real key."""
# They would make another call of it than the one that was judged.
_TURNS = frozenset(
    {b"x-http-method-override", b"x-http-method", b"x-method-override", b"x-original-url", b"x-rewrite-url"}
)
# Google's: whose project a call is counted to, and who else signs it.
_GOOGLE, _ABOUT_THE_CLIENT = b"x-goog-", b"x-goog-api-client"
_PROXY = b"proxy-"
_BEARER = b"bearer "
_SCHEME = "http://"
_QUERY = re.compile(r"[A-Za-z0-9_.,~=&%+:-]{0,1000}")
_USUAL: Mapping[str, int] = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Key:
    """A credential, and the word that stands for it inside."""

    stand_in: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """The model's service, as it is found inside.

    `here` is where clients find it, `prefix` the path of its base address, the same on both sides.
    `is_listed`: the operator lets the run reach it.
    """

    here: Target
    endpoint: Endpoint
    keys: tuple[Key, ...]
    calls: tuple[Call, ...]
    prefix: str = ""
    is_listed: bool = True

    @property
    def base_url(self) -> str:
        """Its address inside."""
        return f"{_SCHEME}{self.here}{self.prefix}"

    def is_meant(self, target: str) -> bool:
        """Tell whether a request is for it: by its path alone, or by its whole address inside."""
        return target.startswith("/") or self._path(target) is not None

    def judge(self, request: h11.Request) -> h11.Request | Refusal:
        """Give the request as the service gets it, or say why it does not get it."""
        method, target = request.method.decode("latin-1"), request.target.decode("latin-1")
        path, mark, query = (self._path(target) or target).partition("?")
        refusal = self._framing(request) or self._call(method, path, query)
        if refusal is not None:
            return refusal
        headers = self._headers(list(request.headers))
        if isinstance(headers, Refusal):
            return headers
        if not self.is_listed:
            host = self.endpoint.target.host
            return Refusal("host", f"{host} is not among the hosts that this run may reach")
        anew = f"{path}{mark}{query}"
        return h11.Request(method=request.method, target=anew, headers=[*self._ours(), *headers])

    def path_of(self, target: str) -> str:
        """Give the path that a request asks for, without what stands behind it."""
        return (self._path(target) or target).partition("?")[0]

    def _path(self, target: str) -> str | None:
        """Take the path out of a whole address inside; None: it is none."""
        if target[: len(_SCHEME)].lower() != _SCHEME:
            return None
        authority, slash, path = target[len(_SCHEME) :].partition("/")
        return f"/{path}" if slash and read_target(authority, default_port=80) == self.here else None

    def _framing(self, request: h11.Request) -> Refusal | None:
        """Refuse whatever two servers might understand in two ways."""
        named = [name for name, _ in request.headers]
        hosts = [value.decode("latin-1") for name, value in request.headers if name == b"host"]
        lengths = [int(value) for name, value in request.headers if name == b"content-length"]
        if request.http_version != b"1.1":
            return Refusal("version", "only HTTP/1.1 is spoken here")
        if len(hosts) != 1 or read_target(hosts[0], default_port=80) != self.here:
            return Refusal("host-mismatch", "the Host header names another place than the request")
        if lengths and b"transfer-encoding" in named:
            return Refusal("framing", "the body has two lengths")
        if any(length > MAX_BODY_BYTES for length in lengths):
            return TOO_LARGE
        if b"upgrade" in named:
            return Refusal("upgrade", "another protocol cannot be spoken here")
        return None

    def _call(self, method: str, path: str, query: str) -> Refusal | None:
        if not path.startswith(f"{self.prefix}/"):
            return Refusal("path", "this path of the model's service cannot be reached")
        below = path.removeprefix(self.prefix)
        known = [call for call in self.calls if re.fullmatch(call.path, below, re.ASCII)]
        if not known:
            return Refusal("path", "this path of the model's service cannot be reached")
        meant = [call for call in known if method in call.methods]
        if not meant:
            return Refusal("method", "this method cannot be used for this path")
        return _queried(query, frozenset().union(*(call.query for call in meant)))

    def _headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]] | Refusal:
        """Take out every credential, and set the real one where its stand-in was shown."""
        shown = [
            (name, signed)
            for name, value in given
            if name in _CREDENTIALS and (signed := self._signed(value)) is not None
        ]
        if not shown:
            return Refusal("key", "the model's service is asked with the key that this run was given")
        return [*shown, *without_ours(given)]

    def _signed(self, value: bytes) -> bytes | None:
        """Give the header's value with the real credential, where it holds a stand-in and nothing else."""
        scheme = value[: len(_BEARER)] if value[: len(_BEARER)].lower() == _BEARER else b""
        word = value[len(scheme) :].strip()
        for key in self.keys:
            if hmac.compare_digest(word, key.stand_in.encode("ascii")):
                return scheme + key.value.encode("utf-8")
        return None

    def _ours(self) -> list[tuple[bytes, bytes]]:
        target = self.endpoint.target
        usual = _USUAL["https" if self.endpoint.is_tls else "http"]
        host = str(target).removesuffix(f":{usual}") if target.port == usual else str(target)
        return [(b"Host", host.encode("ascii")), (b"Connection", b"close")]


TOO_LARGE = Refusal("too-large", f"more than {MAX_BODY_BYTES} bytes cannot be sent at once")


def without_ours(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Leave out what is between two neighbours only, and every credential, however it is spelled."""
    given = [(name, value, name.replace(b"_", b"-")) for name, value in headers]
    named = {
        word.strip().lower()
        for name, value, _ in given
        if name == b"connection"
        for word in value.split(b",")
    } - _FRAMING
    dropped = BETWEEN_US | _CREDENTIALS
    return [
        (name, value)
        for name, value, plain in given
        if plain not in dropped and name not in named and not _is_more_than_said(plain)
        if plain not in _FRAMING or name == plain
    ]


def _is_more_than_said(plain: bytes) -> bool:
    """Tell a header that says who asks, or what else is asked for."""
    is_google = plain.startswith(_GOOGLE) and plain != _ABOUT_THE_CLIENT
    return is_google or plain in _TURNS or plain.endswith(_SIGNS) or plain.startswith(_PROXY)


def _queried(query: str, names: frozenset[str]) -> Refusal | None:
    """Refuse whatever the client has no need to say behind the path; a name is taken as it is written."""
    if not _QUERY.fullmatch(query):
        return Refusal("path", "what stands behind the path holds what none of the client's does")
    if any(pair.partition("=")[0] not in names for pair in query.split("&") if query):
        return Refusal("query", "what stands behind the path names what none of the client's does")
    return None
