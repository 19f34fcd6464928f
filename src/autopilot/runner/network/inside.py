"""How a command is started inside a sandbox so that it finds the outlet: behind the forwarder.

Must not start anything.
"""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PORT = 3128
_PACKAGE = "autopilot.runner.network"
_FORWARDER = "forwarder.py"


def wrap(
    argv: Sequence[str], socket_inside: Path, *, port: int = PORT, also: Sequence[int] = ()
) -> tuple[str, ...]:
    """Put the forwarder before a command.

    Args:
        argv: program and arguments.
        socket_inside: where the outlet's socket is found inside.
        port: of the loopback inside, where it listens.
        also: ports of the loopback that mean the same port outside: an agent's own API there.
    """
    ports = ",".join(map(str, dict.fromkeys((port, *also))))
    return (sys.executable, "-I", "-S", str(forwarder_file()), str(socket_inside), ports, "--", *argv)


def forwarder_file() -> Path:
    """Name the file that must be readable inside."""
    return Path(str(resources.files(_PACKAGE) / _FORWARDER))


_OWN_LOOPBACK = "localhost,127.0.0.1,::1"
"""What a program starts there, and asks, is beside it: the proxy would refuse it."""


def proxy_environment(port: int = PORT) -> dict[str, str]:
    """Name the proxy at this port of the loopback in every way that programs look for one."""
    url = f"http://127.0.0.1:{port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {
        **{name: url for upper in names for name in (upper, upper.lower())},
        "NO_PROXY": _OWN_LOOPBACK,
        "no_proxy": _OWN_LOOPBACK,
        "NODE_USE_ENV_PROXY": "1",
    }
