"""The control for attempts on the system and the world: where nothing is in the way, they get what they want.

Without a sandbox they would be made on the real machine and on strangers' servers. So they are made in
namespaces of their own, over decoys that lie where the system and the world would (`little_world.py`).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.escape import driver, little_world
from tests.escape.attempt import Attempt
from tests.escape.files import FILES
from tests.escape.network import NETWORK
from tests.escape.powers import KERNEL
from tests.escape.test_escapes import ALL
from tests.escape.world import CANARY

PORT: Final = 4711
REACHED: Final = "reached"
BY_WHOM: Final = {
    # They speak with a server that is none of theirs, and give up; but they have been there.
    "commands: curl -sS -m 5 https://example.com/": 443,
    "commands: git ls-remote https://example.com/x.git": 443,
    "commands: ssh -o BatchMode=yes -o ConnectTimeout=3 git@example.com true": 22,
    "the world: a neighbour": 22,
}
NOT_HERE: Final = {
    "raw: the hypervisor": "not every machine has one",
    "the system: mknod '@worktree@/disk' b 8 0": "root of the machine may, see the kernel's device",
}
TOLD_OTHERWISE: Final = {
    # Root of a network is told that this link cannot be made so, and not that he may not.
    "raw: a new link": "not permitted|denied",
}
GROUPS: Final = ("the world", "raw", "commands", "the system", "masked")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs(binary="bwrap", apt="bubblewrap"),  # which needs namespaces as we do
    pytest.mark.needs(binary="ip", apt="iproute2"),
    pytest.mark.needs(binary="curl", apt="curl"),
    pytest.mark.needs(binary="ssh", apt="openssh-client"),
]


def attempts() -> tuple[Attempt, ...]:
    """Those that are never made without a sandbox, in the groups that root's control does not have."""
    aimed = [each for each in (*FILES, *NETWORK) if each.only_inside and each.name not in NOT_HERE]
    return tuple(each for each in aimed if each.name.partition(":")[0] in GROUPS)


@pytest.fixture(scope="module")
def got() -> Iterator[Mapping[str, Any]]:
    """What each attempt got."""
    with tempfile.TemporaryDirectory(prefix="ap-decoys-", dir="/var/tmp") as name:
        out = Path(name)
        for folder in ("root", "tree", "home"):
            (out / folder).mkdir()
        places = {"worktree": name + "/tree", "own_home": name + "/home", "port": str(PORT), "canary": CANARY}
        places["python"] = sys.executable
        asked = [{"name": each.name, "argv": each.argv(places)} for each in attempts()]
        (out / "attempts.json").write_text(json.dumps(asked))
        (out / "driver.py").write_text(Path(driver.__file__).read_text())
        (out / "world.py").write_text(Path(little_world.__file__).read_text())
        order = {
            "root": f"{name}/root",
            "keep": [name, *_of_the_interpreter()],
            "canary": CANARY,
            "port": PORT,
            "driver": f"{name}/driver.py",
            "attempts": f"{name}/attempts.json",
            "report": f"{name}/report.json",
            "reached": f"{name}/reached.json",
        }
        (out / "order.json").write_text(json.dumps(order))
        done = subprocess.run(
            [
                *("unshare", "--map-root-user", "--net", "--mount", "--propagation", "private", "--"),
                *(sys.executable, "-I", "-S", f"{name}/world.py", f"{name}/order.json"),
            ],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": f"{name}/home", "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert (out / "reached.json").exists(), done.stdout + done.stderr
        yield {
            **json.loads((out / "report.json").read_text()),
            REACHED: json.loads((out / "reached.json").read_text()),
        }


def _of_the_interpreter() -> list[str]:
    """Folders that it needs and that the system's programs do not lie in."""
    real = Path(sys.executable).resolve()
    needed = {str(Path(sys.executable).parent.parent), str(Path(sys.base_prefix)), str(real.parent.parent)}
    return sorted(place for place in needed if not place.startswith(("/usr", "/opt")))


@pytest.mark.parametrize("attempt", attempts(), ids=lambda each: each.name)
def test_where_nothing_is_in_the_way_it_is_not_told_what_an_agent_is_told(
    got: Mapping[str, Any], attempt: Attempt
) -> None:
    answer = got[attempt.name]
    refusal = TOLD_OTHERWISE.get(attempt.name, attempt.refusal)
    assert answer["code"] == 0 or not re.search(refusal, answer["said"]), answer


@pytest.mark.parametrize("group", GROUPS)
def test_most_of_a_group_even_get_what_they_want(got: Mapping[str, Any], group: str) -> None:
    mine = {name: answer for name, answer in got.items() if name.startswith(f"{group}: ")}
    failed = {name: answer for name, answer in mine.items() if answer["code"] != 0 and name not in BY_WHOM}
    assert len(failed) < len(mine) / 2, failed


def test_a_server_of_the_world_was_reached_by_each_that_speaks_with_it(got: Mapping[str, Any]) -> None:
    assert set(BY_WHOM) <= got.keys()
    assert sorted(got[REACHED]) == sorted(BY_WHOM.values())


def test_every_group_has_attempts_and_what_is_left_out_exists() -> None:
    names = {each.name for each in (*FILES, *NETWORK)}
    assert set(NOT_HERE) | set(TOLD_OTHERWISE) <= names
    assert {each.name.partition(":")[0] for each in attempts()} == set(GROUPS)


def test_no_attempt_is_without_a_control() -> None:
    """Either it is made without a sandbox, or here, or as root of another kernel, or its like is."""
    controlled = {each.name for each in ALL if not each.only_inside}
    controlled |= {each.name for each in (*attempts(), *KERNEL)}
    without = {each.name for each in ALL} - controlled - NOT_HERE.keys()
    likes = {
        name for name in without if name.replace("the machine:", "a decoy of the machine:") in controlled
    }
    assert without - likes == {"environment: cat /proc/1/cmdline /proc/$PPID/cmdline | grep -a @canary@"}


def test_nothing_of_the_machine_was_touched(got: Mapping[str, Any]) -> None:
    assert got
    evil = ("/etc/evil", "/usr/bin/evil", "/usr/local/evil", "/opt/evil", "/evil", "/srv/evil")
    assert [place for place in evil if Path(place).exists()] == []
