"""What the kernel holds: memory, processes and processor of a cell, on a real kernel that hands them out.

This machine's may not: so one is started (User Mode Linux), with a real systemd and a user's manager.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.other_kernel.machine import facts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2000),
    pytest.mark.needs(binary="linux.uml", apt="user-mode-linux"),
    pytest.mark.needs(binary="systemctl", apt="systemd"),
    pytest.mark.needs(binary="dbus-cleanup-sockets", apt="dbus"),
    pytest.mark.needs(binary="bwrap", apt="bubblewrap"),
]
MEMORY = "more than 48 MiB of memory ([sandbox] memory_mib)"
CROWD = "more than 20 processes ([sandbox] max_processes)"
KINDS = pytest.mark.parametrize("kind", ["bubblewrap", "none"])


@pytest.fixture(scope="module")
def seen() -> Any:  # noqa: ANN401 - a document
    return facts()


def how(seen: Any, kind: str, act: str) -> tuple[str, str]:  # noqa: ANN401 - as above
    end = seen["unit"]["kinds"][kind][act]
    return end["stopped"], end["limit"]


def test_a_run_has_a_unit_whose_groups_are_handed_to_it_and_lives_beside_its_cells(seen: Any) -> None:  # noqa: ANN401
    unit = seen["unit"]
    assert unit["bounded"] == ["cpu", "memory", "pids"]
    assert unit["unit's"] == {"memory.max": str(700 << 20), "memory.swap.max": "0", "pids.max": "900"}
    assert unit["where we are"].endswith(f"/{unit['unit']}/runner")
    assert unit["left"] == ["runner"], "each cell is gone with its call"


@KINDS
def test_what_was_configured_is_what_the_kernel_says(seen: Any, kind: str) -> None:  # noqa: ANN401
    assert seen["unit"]["kinds"][kind]["cell"] == {
        "memory.max": str(48 << 20),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "80",
        "cpu.max": "50000 100000",
    }


@pytest.mark.field_report("AGT-011")
@KINDS
@pytest.mark.parametrize("act", ["memory", "memory of two", "shared memory"])
def test_who_takes_memory_without_end_ends_as_a_named_limit(seen: Any, kind: str, act: str) -> None:  # noqa: ANN401
    assert how(seen, kind, act) == ("resource-limit", MEMORY)


@pytest.mark.field_report("AGT-011")
@KINDS
@pytest.mark.parametrize("act", ["bomb", "threads"])
def test_a_crowd_of_processes_or_of_threads_ends_as_a_named_limit(seen: Any, kind: str, act: str) -> None:  # noqa: ANN401
    assert how(seen, kind, act) == ("resource-limit", CROWD)


@KINDS
def test_a_share_of_the_processor_is_held(seen: Any, kind: str) -> None:  # noqa: ANN401
    assert how(seen, kind, "spin") == ("throttled", "")


@pytest.mark.field_report("AGT-009")
@KINDS
def test_nobody_is_left_of_those_who_tried_to_stay(seen: Any, kind: str) -> None:  # noqa: ANN401
    assert seen["unit"]["kinds"][kind]["living"] == 0


@KINDS
def test_the_users_service_manager_starts_something_for_who_has_no_sandbox_only(seen: Any, kind: str) -> None:  # noqa: ANN401
    assert (seen["unit"]["kinds"][kind]["launched"] == 0) is (kind == "none")


@pytest.mark.field_report("DMN-050", "AGT-011")
def test_the_daemon_of_a_run_without_memory_lives_and_says_which_limit_it_was(seen: Any) -> None:  # noqa: ANN401
    assert "service" in seen, seen["said"]
    story = seen["service"]
    assert story["result"]["code"] == "resource-limit"
    assert "more than 64 MiB of memory ([sandbox] memory_mib)" in story["result"]["message"]
    assert story["log"] == ["resource-limit"]
    assert story["same daemon"]
    assert story["daemon"] == {"ActiveState": "active", "NRestarts": "0", "Result": "success"}


def test_the_check_up_says_that_the_kernel_holds_them(seen: Any) -> None:  # noqa: ANN401
    (line,) = [each for each in seen["service"]["doctor"] if each["name"] == "limits"]
    assert line["verdict"] == "go"
    assert line["evidence"].startswith("memory, processes, processor: held by the kernel")
