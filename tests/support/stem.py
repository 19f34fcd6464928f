"""A process that waits with a daemon's modules in it, and of which each start of that daemon is a fork.

What it forks (`sprout.py`) is a process of its own, in a session of its own; it can be killed like any other.
Only what every start would import again has been imported once (docs/decisions/0186). Must not be used where
the start of the interpreter is what a test is about.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from tests.support.sprout import ANSWER_BYTES
from tests.support.wait import wait_until

_SPROUT: Final = Path(__file__).with_name("sprout.py")


class Sprout:
    """One start: what a test may ask of a process that it started."""

    def __init__(self, stem: Stem, pid: int) -> None:
        """Take whom to ask for its end: nobody but a parent is told of that."""
        self._stem, self.pid = stem, pid
        self.returncode: int | Any = None  # as Popen has it

    def poll(self) -> int | None:
        """Tell its exit code, as a negative number the signal that ended it; None while it lives."""
        if self.returncode is None:
            self.returncode = self._stem.end_of(self.pid)
        return self.returncode

    def wait(self, timeout: float = 60.0) -> int:
        """Wait until it has ended."""
        wait_until(lambda: self.poll() is not None, timeout, f"the process {self.pid} has ended")
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def send_signal(self, number: int) -> None:
        """Send it a signal; who is dead already and whose end was asked for is left alone."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Stem:
    """The process that waits, seen from the test."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], out: IO[bytes]) -> None:
        """Start it with what Python is told to run; the environment is that of every start."""
        self.env = dict(env)
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_SPROUT), str(theirs.fileno()), *argv],
                cwd="/",
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )

    def start(self, out: IO[bytes]) -> Sprout:
        """Have it fork, and give the process that came of it once it stands for itself."""
        socket.send_fds(self._line, [b"start"], [out.fileno()])
        return Sprout(self, self._answer())

    def end_of(self, pid: int) -> int | None:
        """Ask for the exit code of a process that it started; None while that lives."""
        self._line.sendall(b"%d" % pid)
        status = self._answer()
        return None if status < 0 else os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """Let it end; what came of it is not touched."""
        self._line.close()
        self._process.wait()

    def _answer(self) -> int:
        said = self._line.recv(ANSWER_BYTES, socket.MSG_WAITALL)
        assert said, f"the stem ended with {self._process.wait()}"
        return int(said)
