"""The one door to foreign code: whatever an agent or a repository brings is started through here.

Must not start anything outside of a sandbox; that there is none is a sandbox too (`none`).
"""

from __future__ import annotations

import os
import signal
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Required, TypedDict, Unpack

from autopilot.config import proc
from autopilot.runner.sandbox.bounds import RESOURCE_LIMIT, Watchman

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.runner.sandbox.cells import Cell
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
        used more of the machine than it may, and `limit` says of what.

    Raises:
        SandboxError: the sandbox did not come up; the program was never started.
        SandboxMissing: there is no sandbox.
        ValueError: what it prints would be written to where it can plant a link.
        Exception: what a callback or a file raised, after the whole tree was ended.
    """
    _refuse_planted(confinement, rules["output"], rules.get("stderr"))
    cell = sandbox.cells.make(sandbox.bounds) if sandbox.cells is not None else None
    watchman = Watchman(sandbox.bounds, rules["clock"], cell)
    rules["should_stop"] = watchman.or_over(rules.get("should_stop"))
    try:
        ended, told = _run(sandbox, confinement, argv, env=env, cell=cell, rules=rules)
        return _judged(sandbox.read(ended, told), watchman)
    finally:
        if cell is not None:
            cell.group.remove()


def _run(
    sandbox: Sandbox,
    confinement: Confinement,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cell: Cell | None,
    rules: Rules,
) -> tuple[proc.Exit, bytes]:
    """Start it and see it to its end; give that, and what the sandbox told."""
    with tempfile.TemporaryFile() as status:
        wrapped = sandbox.wrap(argv, env, confinement, status=status.fileno(), cell=cell)
        try:
            ended = proc.run(
                wrapped.argv,
                cwd=confinement.cwd,
                env=wrapped.env,
                passed=(status.fileno(), *wrapped.passed),
                group=cell.group if cell is not None else None,
                on_start=_numbered(wrapped.on_start),
                **rules,
            )
        finally:
            for descriptor in (*wrapped.passed, *wrapped.kept):
                os.close(descriptor)
        status.seek(0)
        return ended, status.read(_MAX_TOLD_BYTES)


def _refuse_planted(confinement: Confinement, *files: Path | None) -> None:
    for file in files:
        if file is not None and any(file.is_relative_to(folder) for folder in confinement.writable):
            raise ValueError(f"{file} lies in a folder that the program writes to")


def _numbered(on_start: Callable[[int], None] | None) -> Callable[[proc.ProcessId], None] | None:
    return (lambda process: on_start(process.pid)) if on_start is not None else None


def _judged(ended: proc.Exit, watchman: Watchman) -> proc.Exit:
    """Name the bound that ended it, or that kept it from going on: not a fault of its own."""
    if ended.stopped:
        return replace(ended, limit=watchman.reached) if ended.stopped == RESOURCE_LIMIT else ended
    if ended.signal == signal.SIGXFSZ and watchman.bounds.file_bytes is not None:
        return replace(ended, stopped=RESOURCE_LIMIT, limit=watchman.bounds.large_file)
    if watchman.cell is None or ended.ok:
        return ended
    if ended.signal == signal.SIGKILL and watchman.cell.ran_out_of_memory:
        return replace(ended, stopped=RESOURCE_LIMIT, limit=watchman.bounds.memory)
    if watchman.cell.was_too_crowded:
        return replace(ended, stopped=RESOURCE_LIMIT, limit=watchman.bounds.crowd)
    return ended
