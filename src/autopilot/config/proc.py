"""The one place that starts a process: argv only, own session, nothing inherited, nothing left behind.

Must not use a shell, read a line, or decode what a child prints: its bytes go to a file, a tail to memory.
Source: docs/decisions/0003, 0010 and 0011.
"""

from __future__ import annotations

import secrets
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config import capture
from autopilot.config.call import Call, Exit, Rules
from autopilot.config.orphans import adopt_orphans
from autopilot.config.procinfo import (
    ProcessId,
    all_pids,
    identity_of,
    is_alive,
    is_standing,
    look,
    marked,
    started_as,
)
from autopilot.config.proctree import kill_tree
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from autopilot.config.cgroup import Group
    from autopilot.config.clock import Clock

__all__ = [
    "Child",
    "Exit",
    "ProcessId",
    "SpawnError",
    "adopt_orphans",
    "identity_of",
    "is_alive",
    "is_standing",
    "kill_tree",
    "run",
    "spawn",
    "started_as",
]

RUN_ID_VARIABLE = "AUTOPILOT_RUN_ID"


class SpawnError(TransientError):
    """A program that was to go on without us could not be started."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process that lives on without us. Keep it until `poll` gives a code, or the dead are not reaped."""

    id: ProcessId
    _process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process number."""
        return self.id.pid

    def poll(self) -> int | None:
        """Give the exit code (negative: the signal) once it has ended."""
        return self._process.poll()


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    output: Path,
    clock: Clock,
    wall_s: float,
    grace_s: float = 10.0,
    silence_s: float | None = None,
    stderr: Path | None = None,
    stdin: bytes | None = None,
    max_output_bytes: int | None = None,
    on_output: Callable[[bytes], str | None] | None = None,
    should_stop: Callable[[], str | None] | None = None,
    on_start: Callable[[ProcessId], None] | None = None,
    secrets: Collection[str] | None = None,
    passed: Sequence[int] = (),
    group: Group | None = None,
) -> Exit:
    """Run a program to its end, and with it everything it has started.

    Args:
        argv: program and arguments; a bare name is looked up in PATH of `env`.
        cwd: where it runs.
        env: its whole environment; only a mark of ours is added, to find its descendants by.
        output: file for what it prints; written anew, for this user only.
        clock: measures time awake.
        wall_s: seconds it may take.
        grace_s: seconds between TERM and KILL.
        silence_s: seconds it may print nothing.
        stderr: file for its errors; None = they go into `output`.
        stdin: what it may read; None = nothing.
        max_output_bytes: how much it may print; no more than that is kept.
        on_output: given each chunk of output (at most 64 KiB); a text it returns stops the program.
        should_stop: asked at least every 0.2 s; a text it returns stops the program.
        on_start: told whom we have started.
        secrets: values to take out of all that it prints, with whatever looks like one; None = nothing.
        passed: descriptors that it inherits beside the usual three, under the same numbers.
        group: a control group that it will be in, and nobody else: all in it end with it.

    Returns: how it ended. `stopped` names the limit (wall, silence, output-ceiling) or a callback's reason.

    Raises:
        Exception: what a callback or a file raised, after the whole tree was ended.
    """
    rules = Rules(clock, wall_s, grace_s, silence_s, on_output, should_stop, on_start, group)
    with capture.Streams(output=output, stderr=stderr, most_bytes=max_output_bytes, hides=secrets) as streams:
        started = _start(argv, cwd=cwd, env=env, stdin=stdin, streams=streams, rules=rules, passed=passed)
        return _ended(started, output)


def _ended(started: Call | str, output: Path) -> Exit:
    if isinstance(started, str):
        return Exit(spawn_error=started, output=output)
    return started.to_the_end(output)


def spawn(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> Child:
    """Start a program that goes on without us: own session, its output appended to a file.

    It is marked with AUTOPILOT_RUN_ID of `env` (give the same to `kill_tree`), or else at random.

    Raises:
        SpawnError: it cannot be started.
    """
    mark = env.get(RUN_ID_VARIABLE) or secrets.token_hex(16)
    with capture.append_to(output) as out:
        try:
            process = _popen(
                argv, cwd=cwd, env=marked(env, mark), stdin=None, stdout=out.fileno(), stderr=out.fileno()
            )
        except (OSError, ValueError) as exc:
            raise SpawnError("spawn-failed", _why(argv, cwd, env, exc)) from exc
    try:
        seen = look(process.pid)
    except OSError as exc:  # nobody could ever find it again
        process.kill()
        process.wait()
        raise SpawnError("spawn-failed", f"cannot look at what was started: {exc}") from exc
    return Child(seen.id if seen else ProcessId(process.pid, 0), process)


def _start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | None,
    streams: capture.Streams,
    rules: Rules,
    passed: Sequence[int],
) -> Call | str:
    """Start the program; a text says why that was not possible."""
    mark, before = secrets.token_hex(16), all_pids()
    out, err = streams.output.far, streams.errors.far
    try:
        with _readable(stdin) as source:
            process = _popen(
                argv, cwd=cwd, env=marked(env, mark), stdin=source, stdout=out, stderr=err, passed=passed
            )
    except (OSError, ValueError) as exc:
        return _why(argv, cwd, env, exc)
    finally:
        streams.close_far_ends()
    return Call(process, streams=streams, rules=rules, mark=mark, before=before)


@contextmanager
def _readable(content: bytes | None) -> Iterator[int | None]:
    """Give a descriptor to read this from: a file, so that a child that never reads blocks nobody."""
    if content is None:
        yield None
        return
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file.fileno()


def _popen(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: int | None,
    stdout: int,
    stderr: int,
    passed: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    if not argv or not argv[0]:
        raise ValueError("the command is empty")
    return subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        pass_fds=tuple(passed),
    )


def _why(argv: Sequence[str], cwd: Path, env: Mapping[str, str], exc: OSError | ValueError) -> str:
    """Say what was missing: the folder, the program, or the place where it was looked for."""
    if not cwd.is_dir():
        return f"the folder {cwd} does not exist"
    reason = (exc.strerror if isinstance(exc, OSError) else None) or str(exc)
    name = argv[0] if argv else ""
    looked = (
        "" if "/" in name or not isinstance(exc, FileNotFoundError) else f"; PATH is {env.get('PATH', '')!r}"
    )
    return f"cannot start {name!r}: {reason}{looked}"
