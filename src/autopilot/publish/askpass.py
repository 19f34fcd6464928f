"""Lends git the token for one call: through a named pipe, so that it never lies in a file.

git asks a small program of ours (GIT_ASKPASS), which is answered by one line through a pipe of its own, for
this user only. The token is in no command line, no URL, no environment and no log. Must not outlive the call.
Source: gitcredentials(7) "Requesting credentials"; fifo(7).
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.detector import find
from autopilot.config.threads import begin
from autopilot.publish.stops import CredentialError
from autopilot.schemas import outbound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PROGRAM = """#!/bin/sh
case "$1" in
Username*) echo x-access-token ;;
*)
    reply="${0%/*}/reply.$$"
    mkfifo -m 600 "$reply" || exit 1
    echo "$$" >"${0%/*}/asked"
    IFS= read -r line <"$reply" && printf '%s\\n' "$line"
    rm -f "$reply"
    ;;
esac
"""
_STOP = b"stop"
_ANSWER_TRIES = 500
_ANSWER_PAUSE_S = 0.01
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
        CredentialError: the token holds a blank or a control character, so it would reach the server damaged.
    """
    if not token.isascii() or not token.isprintable() or " " in token:
        raise CredentialError(
            "credential-malformed",
            "the stored credential holds a blank, a control or a non-ASCII character",
            hint="store it again without line ends",
        )
    place = Path(tempfile.mkdtemp(prefix="ask-", dir=folder))
    asked, program = place / "asked", place / "ask"
    os.mkfifo(asked, 0o600)
    program.write_text(_PROGRAM, encoding="ascii")
    program.chmod(0o700)
    questions = os.open(asked, os.O_RDWR)  # both ends, so that nobody ever waits for the other to come
    server = threading.Thread(target=_serve, args=(questions, place, token), daemon=True)
    begin(server)
    try:
        yield Access({"GIT_ASKPASS": str(program)}, token)
    finally:
        os.write(questions, _STOP + b"\n")
        server.join()
        os.close(questions)
        shutil.rmtree(place)


def _serve(questions: int, place: Path, token: str) -> None:
    """Answer each question through a pipe of its own, so that two can neither share nor split an answer."""
    pending = b""
    while True:
        *asked, pending = (pending + os.read(questions, 4096)).split(b"\n")
        for number in asked:
            if number == _STOP:
                return
            if number.isdigit():
                _answer(place / f"reply.{int(number)}", token)


def _answer(reply: Path, token: str) -> None:
    """Write one line, unless whoever asked has gone."""
    for _ in range(_ANSWER_TRIES):
        try:
            handle = os.open(reply, os.O_WRONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return
        except OSError as exc:
            if exc.errno != errno.ENXIO:
                return
            threading.Event().wait(_ANSWER_PAUSE_S)  # made, but not opened yet
            continue
        with suppress(BrokenPipeError):
            os.write(handle, token.encode("ascii") + b"\n")
        os.close(handle)
        return
