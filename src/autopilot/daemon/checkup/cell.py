"""What agents and the repositories' own commands are locked up in, tried out.

Must not start anything of a repository.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.load import load
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.specs import sandbox_spec
from autopilot.runner.sandbox.confinement import SandboxMissing
from autopilot.runner.sandbox.landlock import Landlock
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxSpec, weakness
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.runner.sandbox.confinement import Sandbox
    from autopilot.schemas.checkup import Check

_NAME = "sandbox"
_CURE = "read docs/security.md, and queue only what you trust"
_CURES: Mapping[str, str] = {
    "landlock": "install bubblewrap, or let it make user namespaces: what Landlock does not give is in"
    " docs/security.md"
}


def sandbox(paths: Paths, clock: Clock) -> Check:
    """Try the sandbox that runs will have; without one the night does not begin."""
    spec = wanted(paths)
    if spec.kind == "none":
        seen = "none, as configured: agents and tests run as you and can reach whatever you can"
        return warning(_NAME, seen, 'queue only tickets whose text you trust, or set [sandbox] kind = "auto"')
    chosen = open_sandbox(spec, clock)
    try:
        chosen.check()
    except SandboxMissing as missing:
        return blocked(_NAME, missing.what, missing.hint)
    if told := weakness(chosen.kind):
        return _weaker(chosen, told, is_wanted=spec.kind == chosen.kind)
    return ok(_NAME, f"{chosen.kind} works here: agents and tests see the system and their own worktree only")


def _weaker(chosen: Sandbox, told: str, *, is_wanted: bool) -> Check:
    """Warn of one that promises less, and say why nothing stronger was taken."""
    instead = chosen.instead if isinstance(chosen, Landlock) else ""
    why = ", as configured" if is_wanted else f", for {instead}" if instead else ""
    seen = f"{chosen.kind}{why}; {told}"
    return warning(_NAME, seen, _CURES.get(chosen.kind, _CURE))


def wanted(paths: Paths) -> SandboxSpec:
    """Read what is wanted; of a configuration that cannot be read, another line tells."""
    try:
        return sandbox_spec(load(paths), paths)
    except ConfigError:
        return SandboxSpec(sealed=(paths.state,))
