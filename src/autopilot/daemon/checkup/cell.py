"""What agents and the repositories' own commands are locked up in, tried out.

Must not start anything of a repository.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.load import load
from autopilot.daemon.checkup.check import Check, blocked, ok, warning
from autopilot.daemon.specs import sandbox_spec
from autopilot.runner.sandbox.confinement import SandboxMissing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths

_NAME = "sandbox"


def sandbox(paths: Paths, clock: Clock) -> Check:
    """Try the sandbox that runs will have; without one the night does not begin."""
    spec = _wanted(paths)
    if spec.kind == "none":
        seen = "none, as configured: agents and tests run as you and can reach whatever you can"
        return warning(_NAME, seen, 'queue only tickets whose text you trust, or set [sandbox] kind = "auto"')
    chosen = open_sandbox(spec, clock)
    try:
        chosen.check()
    except SandboxMissing as missing:
        return blocked(_NAME, missing.what, missing.hint)
    return ok(_NAME, f"{chosen.kind} works here: agents and tests see the system and their own worktree only")


def _wanted(paths: Paths) -> SandboxSpec:
    """Read what is wanted; of a configuration that cannot be read, another line tells."""
    try:
        return sandbox_spec(load(paths), paths)
    except ConfigError:
        return SandboxSpec(sealed=(paths.state,))
