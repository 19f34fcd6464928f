"""The command guard, proven as before each launch: by its hook's own command, on a socket of its own.

Must not start anything of an agent or a repository.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import proc
from autopilot.config.environ import child_environment
from autopilot.daemon.checkup.check import blocked, ok
from autopilot.runner.guard.selftest import ACCEPTED, DENIED, client_command, fault_of

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.schemas.checkup import Check

_HOOK_S = 10.0


def guard(clock: Clock, limit: Limit) -> Check:
    """Have it refuse a push and allow a status."""
    from autopilot.runner.guard.service import GuardService  # noqa: PLC0415 - a tick does not ask it
    from autopilot.runner.guard.verdict import GuardContext  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory(prefix="autopilot-guard-") as name:
        folder = Path(name)
        context = GuardContext(str(folder), f"{folder}.tmp")
        with GuardService(context, folder / "guard.sock", clock=clock) as service:
            command = client_command(str(service.socket))

            def ask(event: bytes) -> proc.Exit:
                return proc.run(
                    command,
                    cwd=folder,
                    env=child_environment(None, home=folder),
                    output=folder / "hook.log",
                    stdin=event,
                    clock=clock,
                    wall_s=_HOOK_S,
                    grace_s=1.0,
                    should_stop=limit.should_stop,
                )

            fault = fault_of(ask, cwd=folder)
    if fault is not None:
        return blocked("guard", fault, "an agent with hooks would not be started; reinstall autopilot")
    return ok("guard", f"refuses `{DENIED}` and allows `{ACCEPTED}`")
