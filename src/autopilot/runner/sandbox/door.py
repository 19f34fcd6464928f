"""The one door to foreign code: whatever an agent or a repository brings is started through here.

Must not start anything outside of a sandbox; that there is none is a sandbox too (`none`).
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Required, TypedDict, Unpack

from autopilot.config import proc
from autopilot.runner.sandbox.bounds import Watchman

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.runner.sandbox.confinement import Confinement, Sandbox

_MAX_TOLD_BYTES = 64 * 1024


class Rules(TypedDict, total=False):
    """What `proc.run` is told beside program, folder and environment."""

    output: Required[Path]
    clock: Required[Clock]
    wall_s: Required[float]
    grace_s: float
    silence_s: float | None
    stderr: Path | None
    stdin: bytes | None
    max_output_bytes: int | None
    on_output: Callable[[bytes], str | None] | None
    should_stop: Callable[[], str | None] | None
    secrets: Collection[str] | None


def run_inside(
    sandbox: Sandbox,
    confinement: Confinement,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    **rules: Unpack[Rules],
) -> proc.Exit:
    """Run a program to its end inside the sandbox, and with it everything it has started.

    Args:
        sandbox: what locks it up.
        confinement: what it may touch.
        argv: program and arguments.
        env: its whole environment.
        rules: as for `proc.run`.

    Returns:
        How the program ended, as if it had been started by itself; `stopped` is `resource-limit` where it
        used more of the machine than it may.

    Raises:
        SandboxError: the sandbox did not come up; the program was never started.
        SandboxMissing: there is no sandbox.
        Exception: what a callback or a file raised, after the whole tree was ended.
    """
    watchman = Watchman(sandbox.bounds, rules["clock"])
    rules["should_stop"] = watchman.or_over(rules.get("should_stop"))
    with tempfile.TemporaryFile() as status:
        wrapped = sandbox.wrap(argv, env, confinement, status=status.fileno())
        passed = (status.fileno(), *wrapped.passed)
        try:
            ended = proc.run(wrapped.argv, cwd=confinement.cwd, env=wrapped.env, passed=passed, **rules)
        finally:
            for descriptor in wrapped.passed:
                os.close(descriptor)
        status.seek(0)
        told = status.read(_MAX_TOLD_BYTES)
    return sandbox.read(ended, told)
