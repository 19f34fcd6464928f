"""Which control group a process is in, read as the kernel writes it on machines of several kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.cgroup import Group, marks_in, place_of

UNIFIED = "24 30 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
HYBRID = (
    "33 32 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
    "34 32 0:29 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw"
)
IN_A_CONTAINER = "720 719 0:27 /docker/4f2a /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw"
ODD = r"24 30 0:22 / /mnt/a\040b rw - cgroup2 none rw"
OLD = "33 32 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory"


@pytest.mark.parametrize(
    ("place", "mounts", "found"),
    [
        ("/user.slice/a.scope", UNIFIED, "/sys/fs/cgroup/user.slice/a.scope"),
        ("/", UNIFIED, "/sys/fs/cgroup"),
        ("/init.scope", HYBRID, "/sys/fs/cgroup/unified/init.scope"),
        ("/docker/4f2a", IN_A_CONTAINER, "/sys/fs/cgroup"),
        ("/docker/4f2a/b", IN_A_CONTAINER, "/sys/fs/cgroup/b"),
        ("/docker/4f2abc", IN_A_CONTAINER, None),
        ("/elsewhere", IN_A_CONTAINER, None),
        ("/x", ODD, "/mnt/a b/x"),
        ("/x", OLD, None),
        ("/x", "", None),
    ],
)
def test_a_group_is_found_where_it_is_mounted(place: str, mounts: str, found: str | None) -> None:
    assert place_of(place, mounts) == (Path(found) if found else None)


def test_the_name_of_a_cell_tells_the_run_whose_it_is() -> None:
    assert marks_in("/user.slice/autopilot-T-1-a1.scope/autopilot-cell.T-1-a1-0f.41-77-0") == {
        "T-1-a1-0f",
        "41-77-0",
    }
    assert marks_in("/user.slice/autopilot-T-1-a1-0f.scope/runner") == frozenset()


def test_of_a_group_that_is_gone_nothing_is_known_and_nothing_is_set(tmp_path: Path) -> None:
    gone = Group(tmp_path / "gone")
    assert (gone.members(), gone.controllers()) == (frozenset(), frozenset())
    assert gone.count("memory.events", "oom_kill") == 0
    assert not gone.set("memory.max", "1")
    assert not gone.is_populated
    gone.kill()
    assert gone.remove()


def test_a_limit_that_the_kernel_does_not_offer_is_no_file_of_ours(tmp_path: Path) -> None:
    assert not Group(tmp_path).set("memory.max", "1")
    assert list(tmp_path.iterdir()) == []
