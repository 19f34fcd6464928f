"""Lends git the token for one call: through a named pipe, so that it never lies in a file.

git asks a small program of ours (GIT_ASKPASS), which reads one line from a pipe that only this user can open.
The token is in no command line, no URL, no environment and no log. Must not outlive the call.
Source: gitcredentials(7) "Requesting credentials"; fifo(7).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.publish.detector import find
from autopilot.publish.stops import Stop
from autopilot.schemas import outbound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PROGRAM = """#!/bin/sh
case "$1" in
Username*) echo x-access-token ;;
*) IFS= read -r line <"${0%/*}/pipe" && printf '%s\\n' "$line" ;;
esac
"""


_TOLD_CHARS = 800


@dataclass(frozen=True, slots=True)
class Access:
    """The variables that let git ask for the token; none of them is the token."""

    env: Mapping[str, str]
    token: str = field(default="", repr=False)

    def told(self, text: str) -> str:
        """Make a server's words fit for a record: one line, no token, no secret, bounded."""
        plain = text.replace(self.token, "[token]") if self.token else text
        line = outbound.clean_line(plain)[:_TOLD_CHARS]
        return "[left out: it holds a secret]" if find(line.encode()) else line


NO_ACCESS = Access({})


@contextmanager
def lent(token: str, folder: Path) -> Iterator[Access]:
    """Let git calls ask for the token for as long as the context lasts.

    Args:
        token: one line of printable ASCII.
        folder: a private folder of ours.

    Raises:
        Stop: the token holds a blank or a control character, so it would reach the server damaged.
    """
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Stop(
            "credential-malformed",
            "the stored credential holds a blank, a control or a non-ASCII character",
            waiting_for="credential",
            hint="store it again without line ends",
        )
    place = Path(tempfile.mkdtemp(prefix="ask-", dir=folder))
    pipe, program = place / "pipe", place / "ask"
    os.mkfifo(pipe, 0o600)
    program.write_text(_PROGRAM, encoding="ascii")
    program.chmod(0o700)
    done = threading.Event()
    writer = threading.Thread(target=_serve, args=(pipe, token, done), daemon=True)
    writer.start()
    try:
        yield Access({"GIT_ASKPASS": str(program)}, token)
    finally:
        done.set()
        _wake(pipe, writer)
        shutil.rmtree(place)


def _serve(pipe: Path, token: str, done: threading.Event) -> None:
    while not done.is_set():
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as reader:  # waits for a reader
            if not done.is_set():
                reader.write(token.encode("ascii") + b"\n")


def _wake(pipe: Path, writer: threading.Thread) -> None:
    """Be the reader that the writer waits for, until it has seen that it is over."""
    while writer.is_alive():
        handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        writer.join(0.05)
        os.close(handle)
