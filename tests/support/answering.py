"""Somebody on a unix socket who does with each caller in turn what a test wants."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def answering(path: Path, *deeds: Callable[[socket.socket], None]) -> Iterator[None]:
    """Listen, and do one deed for each caller, whose connection ends with it; each must have had one."""
    waiting = list(deeds)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while waiting:
                try:
                    conn, _ = listener.accept()
                except OSError:
                    return  # nobody is awaited any more
                with conn:
                    waiting.pop(0)(conn)

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            serving.join()
    assert not waiting, f"{len(waiting)} of {len(deeds)} callers never came"
