"""Tells the init system how the daemon is: ready, alive at each step of its loop, on its way out.

Must not be fed from a thread of its own: a loop that stands still must be seen to. Where systemd keeps us it
watches; where launchd does, which has no watchdog, a thread here watches the loop.
Source: sd_notify(3), sd_watchdog_enabled(3); docs/decisions/0130.
"""

from __future__ import annotations

import faulthandler
import os
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from autopilot.config.threads import begin
from autopilot.launchd.service import LAUNCHD, MARK, WATCHDOG_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autopilot.config.clock import Clock

_US_PER_S = 1_000_000
_MANAGER_SLACK_S = 5.0
_LOOKS = 6
_STALLED = 70


class Heartbeat(Protocol):
    """What the loop tells."""

    @property
    def longest_wait_s(self) -> float:
        """Give the seconds that the loop may wait at most between two beats."""
        ...

    def ready(self, status: str) -> None:
        """Say that the daemon serves."""
        ...

    def beat(self, status: str) -> None:
        """Say that the loop made a step."""
        ...

    def stopping(self, within_s: float) -> None:
        """Say that the end has begun and may take so many seconds more; again at every step."""
        ...


class Silence:
    """Nobody listens: a daemon in a terminal."""

    longest_wait_s = float("inf")

    def ready(self, status: str) -> None:
        """Tell nobody."""

    def beat(self, status: str) -> None:
        """Tell nobody."""

    def stopping(self, within_s: float) -> None:
        """Tell nobody."""


class SystemdHeartbeat:
    """One datagram to the manager's socket for each word."""

    def __init__(self, address: str, watchdog_us: int) -> None:
        """Take NOTIFY_SOCKET, and the watchdog's patience in microseconds; 0 = it does not watch."""
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.longest_wait_s = watchdog_us / _US_PER_S / 3 if watchdog_us else float("inf")

    def ready(self, status: str) -> None:
        """Let who waits for the start go on."""
        self._tell("READY=1", f"STATUS={status}")

    def beat(self, status: str) -> None:
        """Feed the watchdog."""
        self._tell("WATCHDOG=1", f"STATUS={status}")

    def stopping(self, within_s: float) -> None:
        """Ask for the time that the drain takes; the watchdog goes on watching."""
        left_us = round((within_s + _MANAGER_SLACK_S) * _US_PER_S)
        self._tell("STOPPING=1", "WATCHDOG=1", f"EXTEND_TIMEOUT_USEC={left_us}", "STATUS=draining")

    def _tell(self, *words: str) -> None:
        """Say it; a manager that cannot hear us is no reason to end."""
        with (
            suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as conn,
        ):
            conn.setblocking(False)  # noqa: FBT003 - its name for it
            conn.sendto("\n".join(words).encode(), self._address)


class OwnWatchdog:
    """Ends the process when the loop stands still for too long; whoever keeps it starts it anew."""

    def __init__(self, limit_s: float, *, clock: Clock, end: Callable[[], None]) -> None:
        """Take the seconds awake between two beats, and what ends the process."""
        self.longest_wait_s = limit_s / 3
        self._limit_s = limit_s
        self._clock = clock
        self._end = end
        self._beat_s: float | None = None
        self._pause = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def ready(self, status: str) -> None:
        """Watch from now on; where no thread is to be had nobody watches, and the daemon serves."""
        self.beat(status)
        with suppress(RuntimeError, MemoryError):
            begin(self._thread)

    def beat(self, status: str) -> None:  # noqa: ARG002 - launchd shows none
        """Note the time."""
        self._beat_s = self._clock.monotonic_s()

    def stopping(self, within_s: float) -> None:
        """Watch on: a drain makes steps too."""
        self.beat(f"draining for {within_s:.0f} s")

    def look(self) -> None:
        """Compare once; time asleep does not count."""
        if self._beat_s is not None and self._clock.monotonic_s() - self._beat_s > self._limit_s:
            self._end()

    def _watch(self) -> None:
        while not self._pause.wait(self._limit_s / _LOOKS):
            self.look()


def find(environment: Mapping[str, str], clock: Clock) -> Heartbeat:
    """Choose by our own environment: systemd's socket, launchd's mark, else silence."""
    address = environment.get("NOTIFY_SOCKET", "")
    if address.startswith(("/", "@")):
        return SystemdHeartbeat(address, _patience_us(environment))
    if environment.get(MARK) == LAUNCHD:
        return OwnWatchdog(WATCHDOG_S, clock=clock, end=_end_at_once)
    return Silence()


def _patience_us(environment: Mapping[str, str]) -> int:
    """Read the watchdog's patience; it is another process's where WATCHDOG_PID names one."""
    patience, pid = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    return int(patience) if patience.isdecimal() and pid in {"", str(os.getpid())} else 0


def _end_at_once() -> None:
    """Leave where every thread stands, and end; nothing that waits can be waited for."""
    faulthandler.dump_traceback()
    os._exit(_STALLED)
