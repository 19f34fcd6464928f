"""Runs a program on a pseudo-terminal, as if a person looked at it."""

from __future__ import annotations

import errno
import os
import pty
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 60.0
CHUNK_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Shown:
    """What stood on the terminal, and how the program ended."""

    code: int
    text: str


def on_a_terminal(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], until: str = "", typed: bytes = b""
) -> Shown:
    """Run to the end; with `until`, press Ctrl-C as soon as this text is shown."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**env, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        os.write(ours, typed)
        seen = b""
        for chunk in _chunks(ours):
            seen += chunk
            if until and until.encode() in seen:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)
                until = ""
        return Shown(process.wait(TIMEOUT_S), seen.decode(errors="replace"))
    finally:
        os.close(ours)


def _chunks(handle: int) -> Iterator[bytes]:
    """Give what is written until the other end is closed; Linux says so by EIO."""
    while True:
        try:
            chunk = os.read(handle, CHUNK_BYTES)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return
        if not chunk:
            return
        yield chunk
