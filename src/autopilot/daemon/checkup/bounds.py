"""Who holds the limits of what runs lock up: the kernel, by control groups, or our own watch.

Must not start anything of a repository: what is tried is our own runner, in a unit as a run's would be.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import environ, proc
from autopilot.daemon import keeping
from autopilot.daemon.checkup.check import ok, warning
from autopilot.daemon.version import own_code
from autopilot.launchd import scope
from autopilot.launchd.service import MARK, SYSTEMD

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.schemas.cell import SandboxSpec
    from autopilot.schemas.checkup import Check

_NAME = "limits"
_TRIAL_S = 30.0
_WATCHED_ELSE = frozenset({"memory", "processes"})
_WATCHED = "looked at twice a second, with rlimits"
_CURE = "autopilot install, on a system with systemd and cgroup v2: runs get units of their own"


def bounds(spec: SandboxSpec, clock: Clock) -> Check:
    """Try it; tells what holds, and warns where a limit was set that nothing holds."""
    held = _held(clock)
    if spec.cpu_percent and "processor" not in (held or ()):
        seen = (
            f"nothing holds cpu_percent = {spec.cpu_percent}: no control group of version 2 is handed to us"
        )
        return warning(_NAME, seen, _CURE)
    if held is None:
        return ok(_NAME, f"memory and processes are {_WATCHED}: no control group of version 2 is ours here")
    if missing := sorted(_WATCHED_ELSE - held):
        seen = f"{' and '.join(missing)} {_WATCHED}: the kernel gives our control group no such limit"
        return ok(_NAME, f"{seen}; it ends all processes of a command at one blow")
    return ok(_NAME, f"{', '.join(sorted(held))}: held by the kernel, in a control group for each command")


def _held(clock: Clock) -> set[str] | None:
    """Ask a runner of ours; None where it has no control groups, or does not say."""
    base = environ.current()
    env = environ.child_environment(
        base, home=Path(base.get("HOME") or Path.home()), extra={**environ.UNATTENDED, **own_code()}
    )
    argv: tuple[str, ...] = (sys.executable, "-P", "-m", "autopilot.runner", "bounds")
    if keeping.installed(clock) is not None:
        argv, env = scope.apart(argv, env, key="doctor", ours={**base, MARK: SYSTEMD})
    with tempfile.TemporaryDirectory(prefix="autopilot-probe-") as place:
        out = Path(place, "said")
        ended = proc.run(argv, cwd=Path(place), env=env, output=out, clock=clock, wall_s=_TRIAL_S)
    try:
        said = json.loads(ended.tail) if ended.ok else None
    except ValueError:
        said = None
    return set(said) if isinstance(said, list) else None
