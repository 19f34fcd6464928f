"""The sleep lock of one run: held beside it by a program of the system, gone when either of them ends.

Must not wrap the run: where no lock can be had, the run goes on without one and the reason has a name.
Source: caffeinate(8); systemd-inhibit(1), logind's Inhibit; docs/decisions/0016.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from autopilot.config import environ, proc
from autopilot.config.clock import SystemClock
from autopilot.config.plain import one_line

if TYPE_CHECKING:
    from autopilot.config.clock import Clock

Kind = Literal["caffeinate", "logind", "none"]

_HELD = "held"
_READY_WITHIN_S = 5.0
_POLL_S = 0.02
_GRACE_S = 2.0
_WATCH_EVERY_S = 1
_REFUSED = "awake-refused"
_LID_REFUSED = "awake-lid-refused"
_REFUSALS = ("denied", "not permitted", "authentication required")


@dataclass(frozen=True, slots=True)
class AwakeLock:
    """A lock, or the reason why there is none: `warning` is a code, `detail` the system's own words."""

    kind: Kind
    warning: str = ""
    detail: str = ""
    _holder: proc.Child | None = None
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _clock: Clock | None = None

    @property
    def is_held(self) -> bool:
        """Whether the machine is kept awake by it now."""
        return self._holder is not None and proc.is_alive(self._holder.id)

    def release(self) -> None:
        """Let the machine sleep again. Once more does nothing."""
        if self._holder is not None and self._clock is not None:
            proc.kill_tree(self._holder.id, grace_s=_GRACE_S, clock=self._clock)
            self._holder.poll()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class More:
    """What a lock holds off besides sleep."""

    display: bool = False
    """The display's own sleep; on Linux that is the desktop's affair, and nothing is asked for."""
    lid: bool = False
    """What the system does when the lid is shut. macOS lets nobody hold that off."""
    sleep: bool = True
    """Sleep itself; not where somebody else holds that off already."""


_NO_MORE = More()


def hold(
    *,
    reason: str,
    pid: int | None = None,
    more: More = _NO_MORE,
    clock: Clock | None = None,
    platform: str = sys.platform,
) -> AwakeLock:
    """Keep the machine from sleeping while a process lives.

    Args:
        reason: shown by the system to a person who asks what keeps it awake.
        pid: the process; None = this one. However it ends, the lock ends with it.
        more: what to hold off besides.
        clock: measures how long the system may take to give the lock.
        platform: which system's program to use, named as in `sys.platform`.

    Returns:
        The lock. Without one its `kind` is `none` and `warning` says why. Where only the lid is refused, the
        rest is held with the warning `awake-lid-refused`.
    """
    lock = _held(reason, pid, more, clock=clock, platform=platform)
    if not (more.lid and lock.warning == _REFUSED):
        return lock
    if not more.sleep:
        return replace(lock, warning=_LID_REFUSED)
    refused = lock.detail
    lock = _held(reason, pid, More(display=more.display), clock=clock, platform=platform)
    if lock.kind == "none":
        return lock
    return replace(lock, warning=_LID_REFUSED, detail=refused)


def _held(reason: str, pid: int | None, more: More, *, clock: Clock | None, platform: str) -> AwakeLock:
    env = _environment()
    program = "caffeinate" if platform == "darwin" else "systemd-inhibit"
    if shutil.which(program, path=env["PATH"]) is None:
        return AwakeLock("none", "awake-no-program", f"{program} is not installed")
    watched = os.getpid() if pid is None else pid
    folder = tempfile.TemporaryDirectory(prefix="autopilot-awake-")
    argv = (
        _caffeinate(watched, more)
        if platform == "darwin"
        else _inhibit(watched, one_line(reason), Path(folder.name), more)
    )
    output = Path(folder.name) / "output"
    try:
        holder = proc.spawn(argv, cwd=Path(folder.name), env=env, output=output)
    except proc.SpawnError as exc:
        folder.cleanup()
        return AwakeLock("none", "awake-not-started", exc.what)
    kind: Kind = "caffeinate" if platform == "darwin" else "logind"
    used = clock or SystemClock()
    lock = AwakeLock(kind, _holder=holder, _folder=folder, _clock=used)
    return lock if _is_given(lock, output, used) else _without(lock, output)


def _caffeinate(pid: int, more: More) -> list[str]:
    """Idle sleep, and on mains power system sleep too, until the process ends."""
    return ["caffeinate", "-i", "-s", *(["-d"] if more.display else []), "-w", str(pid)]


def _inhibit(pid: int, reason: str, folder: Path, more: More) -> list[str]:
    """Hold the lock while `tail` watches the process; that it runs at all shows in its output."""
    note = folder / "note"
    note.write_text(_HELD, encoding="ascii")
    watch = ["tail", f"--pid={pid}", f"--sleep-interval={_WATCH_EVERY_S}", "-n", "+1", "-f", str(note)]
    what = ":".join([*(["sleep:idle"] if more.sleep else []), *(["handle-lid-switch"] if more.lid else [])])
    options = [f"--what={what}", "--mode=block", "--who=autopilot", f"--why={reason}"]
    return ["systemd-inhibit", *options, *watch]


def _is_given(lock: AwakeLock, output: Path, clock: Clock) -> bool:
    """Wait until the lock is there, its program has ended, or it took too long."""
    deadline_s = clock.monotonic_s() + _READY_WITHIN_S
    while lock.is_held and clock.monotonic_s() < deadline_s:
        if lock.kind == "caffeinate" or output.read_bytes().endswith(_HELD.encode()):
            return True
        threading.Event().wait(_POLL_S)
    return False


def _without(lock: AwakeLock, output: Path) -> AwakeLock:
    said = one_line(output.read_bytes())
    lock.release()
    is_refused = any(word in said.lower() for word in _REFUSALS)
    code = _REFUSED if is_refused else "awake-no-bus" if "connect to bus" in said else "awake-not-given"
    return AwakeLock("none", code, said or "the system did not answer in time")


def _environment() -> dict[str, str]:
    ours = environ.current()
    bus = {name: value for name, value in ours.items() if name == "DBUS_SYSTEM_BUS_ADDRESS"}
    return {"PATH": environ.search_path(ours), "LANG": "C.UTF-8", **bus}
