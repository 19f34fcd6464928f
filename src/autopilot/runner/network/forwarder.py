"""Inside a sandbox: ports of its own loopback that lead to the outlet's socket, for one program.

`python -I -S forwarder.py SOCKET PORT[,PORT…] -- PROGRAM [ARGUMENT…]`. This process becomes the program, so
its number, signals and exit code are the program's own. A second one, which is nobody's child, carries the
bytes and ends when the program does. At the first port clients find a proxy; at each other one they find
the same port of the loopback outside, where the outlet lets them. Must not decide anything: it is as hostile
as the program. Standard library only, and nothing of ours. Source: ADR 0121.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

MAX_PAIRS = 128
CHUNK_BYTES = 64 * 1024
NOT_FOUND, NOT_STARTED, USAGE = 127, 126, 2
_HOST = "127.0.0.1"
_LOOK_S, _CONNECT_S = 0.5, 5.0
_MAX_HEAD_BYTES = 4096
_HEAD_END = b"\r\n\r\n"


def main(argv: Sequence[str]) -> NoReturn:
    """Listen, leave the carrier behind, and become the program."""
    if len(argv) < 4 or argv[2] != "--":  # noqa: PLR2004 - as the usage line says
        sys.stderr.write("usage: forwarder.py SOCKET PORT[,PORT...] -- PROGRAM [ARGUMENT...]\n")
        sys.exit(USAGE)
    address, program = argv[0], list(argv[3:])
    ports = [int(port) for port in argv[1].split(",")]
    listeners = [_listen(port) for port in ports]
    pid, watched = os.getpid(), _watch_myself()
    if os.fork() == 0:
        if os.fork() == 0:
            folder, _, name = address.rpartition("/")
            os.chdir(folder or ".")  # the whole path may be longer than an address may be
            _be_apart([*(each.fileno() for each in listeners), *watched])
            _Carrier(name, dict(zip(listeners, [None, *ports[1:]], strict=True)), pid, watched).work()
        os._exit(0)
    os.wait()
    try:
        os.execvp(program[0], program)  # noqa: S606 - no shell: it is what we are here for
    except OSError as exc:
        sys.stderr.write(f"cannot start {program[0]!r}: {exc.strerror}\n")
        sys.exit(NOT_FOUND if isinstance(exc, FileNotFoundError) else NOT_STARTED)


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((_HOST, port))
    listener.listen(MAX_PAIRS)
    listener.setblocking(False)  # noqa: FBT003 - the standard library's own signature
    return listener


def _watch_myself() -> list[int]:
    """Open what becomes readable when this process, or what it has become, is no more. Linux alone has it."""
    return [os.pidfd_open(os.getpid())] if hasattr(os, "pidfd_open") else []


def _be_apart(kept: list[int]) -> None:
    """Hold nothing of the program's, and outlive its signals: they are meant for it alone."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    edges = sorted(number for number in kept if number > 2)  # noqa: PLR2004 - the three above
    for start, end in zip([3, *(number + 1 for number in edges)], [*edges, 65536], strict=True):
        os.closerange(start, end)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)


class _Way:
    """One direction of a pair: at most one chunk that has been read and not yet written."""

    def __init__(self, source: socket.socket, sink: socket.socket, first: bytes, *, skips_head: bool) -> None:
        self.source, self.sink, self.held, self.skips_head = source, sink, first, skips_head
        self.has_ended = self.is_closed = False

    @property
    def wants_read(self) -> bool:
        return not self.has_ended and (self.skips_head or not self.held)

    @property
    def wants_write(self) -> bool:
        return bool(self.held) and not self.skips_head

    def read(self) -> None:
        data = self.source.recv(CHUNK_BYTES)
        self.has_ended = not data
        self.held += data
        if self.skips_head:
            head, found, rest = self.held.partition(_HEAD_END)
            if len(head) > _MAX_HEAD_BYTES or (self.has_ended and not found):
                raise ConnectionAbortedError
            if found:
                if head.split(b" ", 2)[1:2] != [b"200"]:
                    raise ConnectionRefusedError
                self.held, self.skips_head = rest, False

    def write(self) -> None:
        if self.wants_write:
            self.held = self.held[self.sink.send(self.held) :]
        if self.has_ended and not self.held and not self.is_closed:
            self.is_closed = True
            self.sink.shutdown(socket.SHUT_WR)


class _Pair:
    """A client inside and the outlet."""

    def __init__(self, client: socket.socket, outlet: socket.socket, port: int | None) -> None:
        self.client, self.outlet = client, outlet
        there = f"{_HOST}:{port}"
        ask = f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n"
        self.ask = b"" if port is None else ask.encode("ascii")
        self.up = _Way(client, outlet, b"", skips_head=False)
        self.down = _Way(outlet, client, b"", skips_head=port is not None)

    def step(self, end: socket.socket, events: int) -> None:
        """Go on after one end has become ready."""
        reads, writes = (self.up, self.down) if end is self.client else (self.down, self.up)
        try:
            if events & selectors.EVENT_READ and reads.wants_read:
                reads.read()
            if events & selectors.EVENT_WRITE or reads.has_ended:
                writes.write()
            reads.write()
        except BlockingIOError:
            return

    @property
    def is_over(self) -> bool:
        return self.down.is_closed


class _Carrier:
    """Carries for all pairs, in one thread, until the program is gone."""

    def __init__(
        self, address: str, listeners: dict[socket.socket, int | None], pid: int, watched: list[int]
    ) -> None:
        self._address, self._listeners, self._pid, self._watched = address, listeners, pid, watched
        self._selector = selectors.DefaultSelector()
        self._pairs: set[_Pair] = set()

    def work(self) -> NoReturn:
        for handle in self._watched:
            self._selector.register(handle, selectors.EVENT_READ)
        while self._is_wanted():
            self._watch_listeners()
            for key, events in self._selector.select(_LOOK_S):
                end = key.fileobj
                if not isinstance(end, socket.socket):
                    os._exit(0)
                if end in self._listeners:
                    self._accept(end)
                elif key.data in self._pairs:
                    self._step(key.data, end, events)
        os._exit(0)

    def _is_wanted(self) -> bool:
        if self._watched:
            return True
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        return True

    def _watch_listeners(self) -> None:
        has_room = len(self._pairs) < MAX_PAIRS
        for listener in self._listeners:
            self._watch(listener, selectors.EVENT_READ if has_room else 0, None)

    def _accept(self, listener: socket.socket) -> None:
        outlet = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client, _ = listener.accept()
        except OSError:
            outlet.close()
            return
        pair = _Pair(client, outlet, self._listeners[listener])
        try:
            outlet.settimeout(_CONNECT_S)
            outlet.connect(self._address)
            outlet.sendall(pair.ask)
            client.setblocking(False)  # noqa: FBT003 - as above
            outlet.setblocking(False)  # noqa: FBT003 - as above
        except OSError:
            client.close()
            outlet.close()
            return
        self._pairs.add(pair)
        self._watch_pair(pair)

    def _step(self, pair: _Pair, end: socket.socket, events: int) -> None:
        try:
            pair.step(end, events)
            is_over = pair.is_over
        except OSError:
            is_over = True
        if is_over:
            self._pairs.discard(pair)
            for each in (pair.client, pair.outlet):
                self._watch(each, 0, None)
                each.close()
        else:
            self._watch_pair(pair)

    def _watch_pair(self, pair: _Pair) -> None:
        for end, reads, writes in ((pair.client, pair.up, pair.down), (pair.outlet, pair.down, pair.up)):
            wants_read = selectors.EVENT_READ if reads.wants_read else 0
            self._watch(end, wants_read | (selectors.EVENT_WRITE if writes.wants_write else 0), pair)

    def _watch(self, end: socket.socket, events: int, pair: _Pair | None) -> None:
        known = self._selector.get_map().get(end)
        if not events:
            if known:
                self._selector.unregister(end)
        elif known is None:
            self._selector.register(end, events, pair)
        elif known.events != events:
            self._selector.modify(end, events, pair)


if __name__ == "__main__":
    main(sys.argv[1:])
