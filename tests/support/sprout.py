"""Waits with a daemon's modules imported, and becomes that daemon in a fork for each start that is asked for.

    python -P tests/support/sprout.py SOCKET SCRIPT|-m MODULE WORDS...

The test's side is `stem.py`. A fork leads a session of its own, has its terminal where the start says, and
runs the program from its first line, as if Python had been told to just now.
"""

from __future__ import annotations

import os
import runpy
import socket
import sys
from typing import Final

from autopilot.config.heap import loading

ANSWER_BYTES: Final = 12


def sprout(stem: socket.socket) -> None:
    """Wait, and return in each fork; end with who asks."""
    with stem:
        while True:
            word, files, _, _ = socket.recv_fds(stem, ANSWER_BYTES, 1)
            if not word:
                sys.exit()
            if not files:
                pid, status = os.waitpid(int(word), os.WNOHANG)
                stem.sendall(b"%*d" % (ANSWER_BYTES, status if pid else -1))
            elif os.fork():
                os.close(files[0])
            else:
                break
        os.setsid()
        for terminal in (1, 2):
            os.dup2(files[0], terminal)
        os.close(files[0])
        stem.sendall(b"%*d" % (ANSWER_BYTES, os.getpid()))


def be(words: list[str]) -> None:
    """Run the program that Python would be told to."""
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    with loading():  # once for all of them; nothing here begins anything
        from autopilot.daemon import app, children  # noqa: F401
        from autopilot.daemon.cli import daemon, main  # noqa: F401
    sprout(socket.socket(fileno=int(sys.argv[1])))
    be(sys.argv[2:])
