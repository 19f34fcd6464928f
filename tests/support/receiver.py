"""Who receives what goes out through a webhook: it keeps each call, and answers as it is told."""

from __future__ import annotations

import json
import threading
from typing import Any, NamedTuple

from tests.support.loopback import LoopbackHandler, LoopbackServer

PATH = "/hooks/T0/B0/" + "not-for-anybody-else"


class Call(NamedTuple):
    """One request."""

    path: str
    kind: str
    body: bytes

    @property
    def text(self) -> str:
        """What it says, in either format."""
        if self.kind == "application/json":
            said: dict[str, Any] = json.loads(self.body)
            return str(said["text"])
        return self.body.decode()


class Receiver(LoopbackServer):
    """Answers with the next of `answers`, then with 200; `cut` closes the connection, `hang` waits."""

    def __init__(self, port: int = 0) -> None:
        self.calls: list[Call] = []
        self.answers: list[int | str] = []
        self.called = threading.Event()
        super().__init__(_Handler, port)

    @property
    def address(self) -> str:
        """The whole address, which only its credential may hold."""
        return f"{self.url}{PATH}"


class _Handler(LoopbackHandler):
    def do_POST(self) -> None:  # noqa: N802 - base
        receiver = self.server
        assert isinstance(receiver, Receiver)
        kind = (self.headers.get("Content-Type") or "").partition(";")[0]
        receiver.calls.append(Call(self.path, kind, self.read_body()))
        receiver.called.set()
        match receiver.answers.pop(0) if receiver.answers else 200:
            case "cut":
                self.cut()
            case "hang":
                receiver.closing.wait()
                self.cut()
            case int(status):
                headers = {"Location": f"{receiver.url}/elsewhere"} if status in {301, 302, 307, 308} else {}
                self.send_bytes(status, headers, b"a word of theirs")
            case other:
                raise AssertionError(other)
