"""One call to the model's service: judged, signed outside of the sandbox, carried, its answer brought back.

Must not write down what is said. Whoever asked and is gone has asked for nothing: the service is let go then.
"""

from __future__ import annotations

import contextlib
import selectors
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11

from autopilot.runner.network.broker import TOO_LARGE
from autopilot.runner.network.exchange import Exchange, TooLargeError
from autopilot.runner.network.names import Refusal
from autopilot.runner.network.refused import Refused, shown
from autopilot.runner.network.relay import CHUNK_BYTES, watch

if TYPE_CHECKING:
    import socket

    from autopilot.runner.network.broker import Broker
    from autopilot.runner.network.line import Line
    from autopilot.runner.network.tls import Tls
    from autopilot.runner.network.visit import Visit

GREET_S = 15.0
_SHOWN_PATH_CHARS = 80
_CUT = "the model's service broke off, or answered in a way that nobody understands"


@dataclass(frozen=True, slots=True)
class Errand:
    """One visitor's."""

    visit: Visit
    broker: Broker

    def run(self, parser: h11.Connection, request: h11.Request) -> None:
        """Take the call to its end.

        Raises:
            OSError: the client broke off, or the service in the middle of its answer.
        """
        judged = self.broker.judge(request)
        if isinstance(judged, Refusal):
            self._refuse(request, judged)
            return
        target = self.broker.endpoint.target
        try:
            line = self.visit.operator.call(self.broker.endpoint, is_raw=False)
        except OSError as exc:
            self.visit.answer(502, f"{target.host} cannot be reached: {exc}")
            return
        if isinstance(line, Refusal):
            self._refuse(request, line)
            return
        with self.visit.ends.kept(line.socket):
            exchange = Exchange(parser, judged if line.proxy is None else _to_proxy(judged, line))
            try:
                wire = _wire(self.broker, line)
                if _Trip(self.visit, line.socket, exchange, wire).make():
                    self.visit.part()
            except TooLargeError:
                self._refuse(request, TOO_LARGE)
            except _ServiceError as exc:
                if not exchange.has_answered:
                    self.visit.answer(502, str(exc))
            except h11.ProtocolError:
                if not exchange.has_answered:
                    self._refuse(request, Refusal("malformed", "this is no body of a request"))
            finally:
                self.visit.carried.add(" ".join(self._shown(request)), exchange.status)

    def _refuse(self, request: h11.Request, refusal: Refusal) -> None:
        target = self.broker.endpoint.target
        method, path = self._shown(request)
        self.visit.refuse(Refused(target.host, target.port, method, refusal.code, path), refusal)

    def _shown(self, request: h11.Request) -> tuple[str, str]:
        path = shown(self.broker.path_of(request.target.decode("latin-1")))[:_SHOWN_PATH_CHARS]
        return shown(request.method.decode("latin-1"))[:20], path


class _ServiceError(Exception):
    """The service could not be spoken to; the words are for whoever asked."""


class _Plain:
    """No TLS: what the operator named by `http://`."""

    has_ended = False

    def seal(self, data: bytes) -> bytes:
        return data

    def open(self, data: bytes) -> bytes:
        self.has_ended = not data
        return data


def _wire(broker: Broker, line: Line) -> Tls | _Plain:
    """Begin TLS where the service speaks it.

    Raises:
        _ServiceError: it is not who it should be, or does not answer.
    """
    if not broker.endpoint.is_tls:
        return _Plain()
    from autopilot.runner.network.tls import Tls  # noqa: PLC0415 - a run without a call to it needs no TLS

    line.socket.settimeout(GREET_S)
    try:
        return Tls(line.socket, broker.endpoint.target.host)
    except OSError as exc:
        what = f"no TLS with {broker.endpoint.target.host}: {exc}"
        raise _ServiceError(what) from exc


def _to_proxy(request: h11.Request, line: Line) -> h11.Request:
    """Write a plain request for the host's own proxy: with the whole address, and its login."""
    host = next(value for name, value in request.headers if name == b"host")
    headers = list(request.headers)
    if line.proxy is not None and line.proxy.authorization:
        headers.append((b"Proxy-Authorization", line.proxy.authorization.encode("ascii")))
    return h11.Request(method=request.method, target=b"http://" + host + request.target, headers=headers)


class _Trip:
    """Carries until the answer is told, holding at most a piece for each direction."""

    def __init__(self, visit: Visit, service: socket.socket, exchange: Exchange, wire: Tls | _Plain) -> None:
        self.client, self.idle_s = visit.client, visit.idle_s
        self.service, self.exchange, self.wire = service, exchange, wire
        self.up = self.down = b""
        self.is_client_gone = self.is_service_deaf = False

    def make(self) -> bool:
        """Carry, and tell whether somebody is still there who has heard it all.

        Raises:
            _ServiceError: the service broke off, or answered nothing that can be passed on.
            h11.ProtocolError: what the client sent is no body of a request.
            TooLargeError: it is too large.
            OSError: the client broke off.
        """
        self.client.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        self.service.setblocking(False)  # noqa: FBT003 - as above
        self.down = self.exchange.greeting()
        self.up = self.wire.seal(self.exchange.up())
        with selectors.DefaultSelector() as selector:
            while not self.is_client_gone and (self.down or not self.exchange.is_over):
                self._watch(selector)
                ready = selector.select(self.idle_s)
                if not ready:
                    return False
                for key, events in ready:
                    step = self._step_client if key.fileobj is self.client else self._step_service
                    with contextlib.suppress(BlockingIOError):
                        step(events)
        return not self.is_client_gone

    def _watch(self, selector: selectors.BaseSelector) -> None:
        """Ask for what can be taken: of the client also that it is gone, once it has asked."""
        watch(selector, self.client, reads=self.exchange.has_asked or not self.up, writes=bool(self.down))
        watch(selector, self.service, reads=not self.down, writes=bool(self.up))

    def _step_client(self, events: int) -> None:
        if events & selectors.EVENT_READ:
            data = self.client.recv(CHUNK_BYTES)
            self.is_client_gone = not data
            self._send(self.exchange.up(data))
        if events & selectors.EVENT_WRITE and not self.is_client_gone:
            self.down = self.down[self.client.send(self.down) :]

    def _step_service(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._write()
        if events & selectors.EVENT_READ and not self.exchange.is_over:
            try:
                self._read()
            except BlockingIOError:
                raise
            except (OSError, h11.RemoteProtocolError) as exc:
                raise _ServiceError(_CUT) from exc

    def _write(self) -> None:
        try:
            self.up = self.up[self.service.send(self.up) :]
        except BlockingIOError:
            return
        except OSError:  # it hears no more, but may have answered already
            self.is_service_deaf, self.up = True, b""

    def _read(self) -> None:
        opened = self.wire.open(self.service.recv(CHUNK_BYTES))
        self.down = self.exchange.down(opened) if opened else b""
        if self.wire.has_ended and not self.exchange.is_over:
            self.down += self.exchange.down(b"")
        self._send(b"")

    def _send(self, data: bytes) -> None:
        """Put something, and what TLS itself has to say, behind what is not sent yet."""
        sealed = self.wire.seal(data)
        if not self.is_service_deaf:
            self.up += sealed
