"""Holds bubblewrap back until it, and what it is about to start, are bounded: in a control group, in number.

It forks at once, so that it cannot be moved behind its own back; a shell that joined first and then became it
would change the environment. Source: bwrap(1), --info-fd and --block-fd; docs/decisions/0139.
"""

from __future__ import annotations

import os
import re
import select
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config import procinfo
from autopilot.runner.sandbox.confinement import SandboxError
from autopilot.runner.sandbox.crowd import bound_threads

if TYPE_CHECKING:
    from autopilot.config.cgroup import Group

_CHILD = re.compile(rb'"child-pid":\s*(\d+)')
_MAX_TOLD_BYTES = 4096
_LOOK_EVERY_MS = 50
_PATIENCE_LOOKS = 1200


@dataclass(frozen=True, slots=True)
class Gate:
    """Two pipes: on one it tells whom it has started, on the other it waits for us."""

    group: Group | None
    threads: int | None
    tells: tuple[int, int]
    waits: tuple[int, int]

    @classmethod
    def shut(cls, group: Group | None, threads: int | None) -> Gate:
        """Make one that is shut; behind it they are in this group, and have no more threads than this."""
        return cls(group, threads, os.pipe(), os.pipe())

    @property
    def options(self) -> tuple[str, ...]:
        """What bubblewrap is told of it."""
        return ("--info-fd", str(self.tells[1]), "--block-fd", str(self.waits[0]))

    @property
    def passed(self) -> tuple[int, int]:
        """The ends that bubblewrap inherits."""
        return self.tells[1], self.waits[0]

    @property
    def kept(self) -> tuple[int, int]:
        """Our own ends."""
        return self.tells[0], self.waits[1]

    def open(self, pid: int) -> None:
        """Bound them and let them go on; of one that has ended already its own end tells.

        Raises:
            SandboxError: they cannot be moved.
        """
        child = self._child_of(pid)
        if child is None:
            return
        try:
            if self.group is not None:
                self.group.take_first_victim(pid)
                self.group.take_first_victim(child)
        except ProcessLookupError:
            return
        except OSError as exc:
            raise failed(f"its control group cannot be joined: {exc.strerror}") from exc
        if self.threads is not None:
            bound_threads(child, self.threads)
        os.write(self.waits[1], b"\n")

    def _child_of(self, pid: int) -> int | None:
        """Read whom bubblewrap has started; None when it ended before."""
        poll, told = select.poll(), b""
        poll.register(self.tells[0], select.POLLIN)
        for _ in range(_PATIENCE_LOOKS):
            if poll.poll(_LOOK_EVERY_MS):
                told += os.read(self.tells[0], _MAX_TOLD_BYTES)
                if found := _CHILD.search(told):
                    return int(found[1])
            elif procinfo.identity_of(pid) is None:
                return None
        raise failed("it did not say what it has started")


def failed(why: str) -> SandboxError:
    """Give the error of a sandbox that did not come up."""
    hint = "autopilot doctor tells whether bubblewrap works here; [sandbox] in docs/security.md"
    return SandboxError("sandbox-failed", f"the sandbox did not come up: {why}", hint=hint)
