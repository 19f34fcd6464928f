"""The control for attempts on the machine itself: root of a kernel that is ours alone is not told no.

Without a sandbox they would be made on the real machine; so they are made on one that is started for them
(User Mode Linux) and thrown away.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from tests.escape import driver
from tests.escape.attempt import Attempt
from tests.escape.powers import KERNEL

KERNEL_PROGRAM: Final = "linux.uml"
PLACES: Final[Mapping[str, str]] = {
    "own_home": "/mnt/home",
    "worktree": "/mnt/tree",
    "repo": "/mnt/repo",
    "admin": "/mnt/admin",
    "victim": "@victim@",  # known once it lives; boot.sh fills it in
    "python": sys.executable,
}
APART: Final = ("unshare", "--mount", "--propagation", "private", "--")
"""What one attempt mounts, the next one does not meet."""
NOT_HERE: Final = {
    "the kernel: ports": "a kernel that is a program has none",
    "become somebody: sudo -n true": "sudo is asked, and not every machine has it",
    "mount: mount -t overlay none -o lowerdir=/,upperdir='@own_home@',workdir='@own_home@' '@own_home@'": (
        "this kernel has no such file system"
    ),
}
_PATIENCE_S: Final = 900.0
_AS_ROOT: Final = () if os.geteuid() == 0 else ("sudo", "--non-interactive")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1000),
    pytest.mark.needs(binary=KERNEL_PROGRAM, apt="user-mode-linux"),
]


def attempts() -> tuple[Attempt, ...]:
    return tuple(each for each in KERNEL if each.name not in NOT_HERE)


@pytest.fixture(scope="module")
def got() -> Iterator[Mapping[str, Any]]:
    """What root was told for each attempt."""
    kernel = shutil.which(KERNEL_PROGRAM)
    assert kernel is not None
    with tempfile.TemporaryDirectory(prefix="autopilot-root-", dir="/var/tmp") as name:
        out = Path(name)
        asked = [
            {"name": str(at), "argv": [*APART, *each.argv(PLACES)]} for at, each in enumerate(attempts())
        ]
        (out / "attempts.json").write_text(json.dumps(asked))
        argv = [kernel, "mem=256M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"]
        argv += ["init=/bin/bash", "con=null", "con0=null,fd:1", f"uml_dir={out}", "--"]
        argv += [str(Path(__file__).with_name("boot.sh")), name, sys.executable, driver.__file__]
        proc.run(
            (*_AS_ROOT, *argv),
            cwd=out,
            env={"PATH": os.environ["PATH"], "HOME": name},
            output=out / "console",
            clock=SystemClock(),
            wall_s=_PATIENCE_S,
            grace_s=1.0,
        )
        report = out / "report.json"
        assert report.exists(), [(each, each.read_text(errors="replace")) for each in out.glob("[sc]*")]
        told = json.loads(report.read_text())
        yield {each.name: told[str(at)] for at, each in enumerate(attempts())}


@pytest.mark.parametrize("attempt", attempts(), ids=lambda each: each.name)
def test_root_without_a_sandbox_is_not_told_what_an_agent_is_told(
    got: Mapping[str, Any], attempt: Attempt
) -> None:
    """Some ask for what cannot be, so that nothing happens: root is told that, and not that he may not."""
    answer = got[attempt.name]
    assert answer["code"] == 0 or not re.search(attempt.refusal, answer["said"]), answer


def test_most_of_them_even_get_what_they_want(got: Mapping[str, Any]) -> None:
    for group in ("mount", "become somebody", "the kernel"):
        mine = [answer["code"] for name, answer in got.items() if name.startswith(f"{group}: ")]
        assert mine.count(0) > len(mine) / 2, (group, mine)


def test_what_is_left_out_exists() -> None:
    assert set(NOT_HERE) <= {each.name for each in KERNEL}
