"""What `status` says of the machine and of what happens next."""

from __future__ import annotations

from typing import Any

import pytest

from autopilot.daemon.cli import shape

AT = 1_767_312_000_000
HOUR_MS = 3_600_000


def view(**changes: object) -> dict[str, Any]:
    return {"sleeps": [], "awake_locks": [], "schedules": [], **changes}


@pytest.mark.field_report("DMN-015", "DMN-035", "DMN-036")
def test_it_names_sleep_a_missing_lock_and_a_schedule_in_trouble() -> None:
    slept = {"started_ms": AT, "slept_ms": 2 * HOUR_MS, "lost_ms": HOUR_MS, "runs": ["T-1-a1-0badcafe"]}
    lock = {"name": "night", "kind": "none", "warning": "awake-refused", "detail": "Access denied\nx"}
    failed = {"name": "backup", "outcome": "failed", "detail": "no room", "ended_ms": AT, "next_ms": AT}
    stale = {"name": "digest", "outcome": "done", "due_ms": AT, "is_stale": True}
    well = {"name": "gc", "outcome": "done", "due_ms": AT, "is_stale": False}
    when = shape.when(AT)
    told = list(shape.machine(view(sleeps=[slept], awake_locks=[lock], schedules=[failed, stale, well])))
    assert told == [
        f"  slept from {when} for 2h 00m, 1h 00m of it in hours for tickets, through T-1-a1-0badcafe",
        "  no sleep lock from on to off [awake-refused]: Access denied x",
        "      → autopilot doctor",
        f"  backup failed {when}: no room",
        f"      tried again {when}",
        f"  digest was last for {when}",
    ]
    assert list(shape.machine(view())) == []


def test_what_falls_due_at_the_same_moment_is_one_line_and_a_long_list_is_cut() -> None:
    rows = [{"name": name, "local": "2026-01-02 07:30 CET"} for name in ("digest", "gc")]
    rows += [{"name": f"n{day}", "local": f"2026-01-{day} 08:00 CET"} for day in range(10, 20)]
    told = list(shape.upcoming(rows))
    assert told[0] == "  2026-01-02 07:30 CET  digest, gc"
    assert len(told) == 6
