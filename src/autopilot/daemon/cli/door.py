"""How a command reaches the queue: through the daemon when one listens, else straight to the database.

Both ways give the same values. Heavy imports happen only on the second way.
"""

from __future__ import annotations

from contextlib import contextmanager

from autopilot.config.clock import SystemClock
from autopilot.config.paths import find_paths
from autopilot.daemon.api import client

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from autopilot.daemon.desk import Desk

BUSY_MS = 1000
"""One of six waits for a database that is locked: a person looks at the terminal meanwhile."""


def ask(
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    alone: Callable[[Desk], dict[str, Any]],
    timeout_s: float = client.TIMEOUT_S,
) -> dict[str, Any]:
    """Ask the daemon, which may take `timeout_s`; without one, do `alone` on the database.

    After a write on the database a nudge follows: a daemon may have come up in between.

    Raises:
        AutopilotError: what either of the two refused.
    """
    socket_path = find_paths().control_socket
    try:
        return client.call(socket_path, method, path, body, timeout_s=timeout_s)
    except client.DaemonAwayError:
        with open_desk() as desk:
            answer = alone(desk)
    if method == "POST":
        client.nudge(socket_path)
    return answer


def health() -> dict[str, Any] | None:
    """Ask a daemon how it is; None where none listens.

    Raises:
        AutopilotError: what it answered instead.
    """
    try:
        return client.call(find_paths().control_socket, "GET", "/v1/health")
    except client.DaemonAwayError:
        return None


def is_daemon_up() -> bool:
    """Tell whether a daemon listens."""
    return health() is not None


@contextmanager
def open_desk() -> Iterator[Desk]:
    """Open the queue directly, with the configuration as it is on disk now.

    Raises:
        ConfigError: the configuration or the queue cannot be used, or the queue may not lie where it does.
    """
    from autopilot.config.heap import loading

    with loading():
        from autopilot.config.load import load
        from autopilot.config.logs import setup
        from autopilot.daemon.desk import Desk
        from autopilot.daemon.statedir import check_file_system
        from autopilot.daemon.store.engine import open_store

    clock, paths = SystemClock(), find_paths()
    settings = load(paths)
    check_file_system(paths.ensure().state)
    with setup(
        paths.logs,
        clock=clock,
        stderr=False,
        level=settings.logs.level,
        max_size_mib=settings.logs.max_size_mib,
        keep_files=settings.logs.keep_files,
    ):
        store = open_store(paths.database, clock, busy_ms=BUSY_MS)
        try:
            yield Desk(store=store, settings=settings, paths=paths, clock=clock)
        finally:
            store.close()
