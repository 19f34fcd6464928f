"""A publisher that is killed at one moment: right before or right after a progress line.

python -P tests/support/dying_publisher.py SPEC.json LINE before|after

LINE counts from 0. The kill is a real SIGKILL of the whole process, with no clean-up.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Final

from autopilot.config.clock import SystemClock
from autopilot.config.paths import PUBLISH_EVENTS_FILE
from autopilot.publish.__main__ import run
from autopilot.publish.files import read_spec
from autopilot.publish.progress import Progress
from autopilot.schemas.events import Event
from autopilot.schemas.publication import PublishSpec

LIVES: Final = "lived through it"


class DyingProgress(Progress):
    """Counts the lines and dies at one of them."""

    def __init__(self, inner: Progress, fatal: int, *, is_before: bool) -> None:
        super().__init__(inner.path, inner.clock, inner.publication)
        object.__setattr__(self, "_state", [fatal, is_before])

    def note(self, event: Event, **facts: str | int | bool | None) -> None:
        state: list[int] = object.__getattribute__(self, "_state")
        is_fatal = state[0] == 0
        state[0] -= 1
        if not is_fatal or not state[1]:
            super().note(event, **facts)
        if is_fatal:
            os.kill(os.getpid(), signal.SIGKILL)


def main(spec_file: Path, fatal: int, when: str) -> None:
    clock, spec = SystemClock(), read_spec(PublishSpec, spec_file)
    progress = Progress(spec_file.parent / PUBLISH_EVENTS_FILE, clock, spec.id)
    run(spec, DyingProgress(progress, fatal, is_before=when == "before"), clock)
    sys.stdout.write(LIVES)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
