"""The product's daemon, runner or publisher, with every flush of it and of its children on record.

    python -P tests/support/powercut/powered.py daemon|runner|publisher WORDS...

Like `mortal.py` it takes the place of our own processes; it hands on what `shim.c` needs, which no child of
ours would get.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from autopilot.config import proc

ROLES: Final[Mapping[str, str]] = {"autopilot.runner": "runner", "autopilot.publish": "publisher"}
VARIABLES: Final = ("LD_PRELOAD", "POWERCUT_ROOT", "POWERCUT_KEEP", "POWERCUT_RECORD")


def hand_on() -> None:
    """Give what we were given to whatever is started from here."""
    given = {name: os.environ[name] for name in VARIABLES}
    original = proc._popen  # noqa: SLF001 - the one seam where processes are made

    def popen(
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | None,
        stdout: int,
        stderr: int,
        passed: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        both = {**env, **given}
        return original(argv, cwd=cwd, env=both, stdin=stdin, stdout=stdout, stderr=stderr, passed=passed)

    setattr(proc, "_popen", popen)  # noqa: B010 - mypy refuses an assignment to a function


def main(role: str, words: list[str]) -> int:
    """Be who we are told to be."""
    hand_on()
    if role == "runner":
        from autopilot.runner.__main__ import main as work

        return work(words)
    if role == "publisher":
        from autopilot.publish.__main__ import main as publish

        return publish(words)
    from autopilot.daemon import children
    from autopilot.daemon.cli.main import run

    original = children._own_python  # noqa: SLF001 - as above

    def own_python(module: str, *arguments: str) -> tuple[str, ...]:
        if module not in ROLES:
            return original(module, *arguments)
        return (sys.executable, "-P", str(Path(__file__).resolve()), ROLES[module], *arguments)

    setattr(children, "_own_python", own_python)  # noqa: B010 - as above
    return run(["daemon", *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
