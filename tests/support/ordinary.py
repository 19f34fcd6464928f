"""Programs of our own run by an ordinary user: for root the kernel does not count."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.init_system import GID, NEEDED, UID
from tests.support.tree import ROOT

_REACH = ROOT / "tests" / "support" / "within_reach.sh"
_COVERED = f"""
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
words=$1
shift
. '{_REACH}' "${{@:1:$words}}"
exec setpriv --reuid {UID} --regid {GID} --clear-groups "${{@:$((words + 1))}}"
"""
_ROOTS = (
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    "bash",
    "-c",
    _COVERED,
    "-",
)


def as_ordinary_user(code: str, *words: str) -> str:
    """Run Python code that may import the project, and give what it printed.

    Where we are root, that is somebody else, in a numbering of its own.
    """
    covered = (*_ROOTS, str(len(NEEDED)), *NEEDED) if os.geteuid() == 0 else ()
    argv = [*covered, sys.executable, "-c", code, *words]
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=120, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout
