"""A unit of its own for a child that must outlive the daemon: systemd ends what is left in the daemon's.

It has its own control group, handed over to the child (`Delegate`), which bounds what it locks up by groups
below it. The unit's own limits lie further out: what a child of ours leaks itself does not reach the daemon.
Must not keep a child from starting: without a manager that answers it starts as it is, and ends with us.
Source: systemd.kill(5), KillMode=mixed; systemd-run(1), --scope: the program replaces it, so the pid stays;
systemd.resource-control(5); docs/decisions/0139.
"""

from __future__ import annotations

import secrets
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.launchd.service import MARK, SYSTEMD

if TYPE_CHECKING:
    from collections.abc import Mapping

_RUNTIME = "XDG_RUNTIME_DIR"
_TIMEOUT_S = 1.0
# A log-out sends TERM to all of a unit's processes, and an agent that ends by it looks like one that failed.
# In this mode it is sent to nobody: the daemon ends its runs one by one, while the manager waits for them.
_ENDED_BY_THE_DAEMON = ("--property=KillMode=mixed", "--property=TimeoutStopSec=infinity")
# Also: one of its processes that the kernel ends for want of memory does not make the manager end the others.
_HANDED_OVER = "--property=Delegate=yes"


@dataclass(frozen=True, slots=True)
class Most:
    """What a unit may use at most; None = as much as there is."""

    memory_bytes: int | None = None
    threads: int | None = None

    def properties(self) -> tuple[str, ...]:
        """Write it as systemd-run reads it; nothing of it is swapped out."""
        memory = (
            (f"MemoryMax={self.memory_bytes}", "MemorySwapMax=0") if self.memory_bytes is not None else ()
        )
        threads = (f"TasksMax={self.threads}",) if self.threads is not None else ()
        return tuple(f"--property={each}" for each in (*memory, *threads))


_UNBOUNDED = Most()


def apart(
    argv: tuple[str, ...],
    env: Mapping[str, str],
    *,
    key: str,
    ours: Mapping[str, str],
    most: Most = _UNBOUNDED,
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Give the command line and environment with which a child starts in a unit of its own.

    Args:
        argv: the child's command line.
        env: its environment.
        key: names it in the unit's name.
        ours: our own environment: only the daemon of an installed service has a unit that ends its children.
        most: what the unit may use.
    """
    runtime = ours.get(_RUNTIME, "")
    program = shutil.which("systemd-run", path=env["PATH"])
    if ours.get(MARK) != SYSTEMD or program is None or not _answers(runtime):
        return argv, dict(env)
    unit = f"autopilot-{key}-{secrets.token_hex(3)}"
    named = (f"--unit={unit}", f"--description=autopilot {key}")
    own_group = (_HANDED_OVER, *most.properties())
    options = ("--user", "--scope", "--quiet", "--collect", *_ENDED_BY_THE_DAEMON, *own_group, *named)
    own = () if _RUNTIME in env else ("env", "-u", _RUNTIME)  # it is for systemd-run alone
    return (program, *options, "--", *own, *argv), {**env, _RUNTIME: runtime}


def _answers(runtime: str) -> bool:
    """Tell whether the user manager listens on its own socket, which needs no bus."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as conn:
        conn.settimeout(_TIMEOUT_S)
        conn.connect(str(Path(runtime) / "systemd" / "private"))
        return True
    return False
