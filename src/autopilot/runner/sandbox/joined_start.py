"""Joins a control group, then becomes the program. One file, standard library only.

    python -I -S joined_start.py GROUP STATUS PROGRAM ARGUMENTS…

GROUP is the group's folder; STATUS a descriptor on which is told why the program could not be started. Must
not import anything of ours: it runs where the package may not be in reach.
Source: cgroups(7); proc_pid_oom_score_adj(5).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

_GOES_FIRST = "500"  # `GOES_FIRST` of config/cgroup.py


def first_environment() -> dict[bytes, bytes]:
    """Give the environment as it was handed to us: an interpreter may have set a locale of its own since."""
    pairs = (entry.partition(b"=") for entry in Path("/proc/self/environ").read_bytes().split(b"\0"))
    return {name: value for name, _, value in pairs if name}


def main(group: str, status_text: str, argv: list[str]) -> int:
    """Join and become the program; returns only when that failed."""
    status = int(status_text)
    os.set_inheritable(status, False)  # noqa: FBT003 - its signature
    try:
        Path(group, "cgroup.procs").write_text("0\n", encoding="ascii")
        Path("/proc/self/oom_score_adj").write_text(_GOES_FIRST, encoding="ascii")
        env = first_environment()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # an interpreter ignores them, and so would its heir
            signal.signal(number, signal.SIG_DFL)
    except OSError as error:
        os.write(status, json.dumps({"fault": str(error)}).encode())
        return 1
    try:
        os.execvpe(argv[0], argv, env)  # noqa: S606 - it becomes what it is told to
    except OSError as error:
        os.write(status, json.dumps({"exec": error.strerror or str(error)}).encode())
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
