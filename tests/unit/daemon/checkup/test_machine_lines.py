"""Lines about the machine: room for worktrees, power and lid, two installations."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from autopilot.daemon.checkup import lines, power, room, versions
from autopilot.daemon.checkup.power import Power
from autopilot.daemon.checkup.probe import ALWAYS, Limit
from tests.support.clock import FakeClock
from tests.support.scenes import scene

GIB = 1024**3


class TestRoom:
    def test_the_worktrees_of_all_slots_fit(self) -> None:
        line = room.disk_for(2, GIB, free_bytes=7 * GIB)
        assert (line.blocks, line.cure) == (False, "")
        assert "2 at once take up to 6.00 GiB; 7.0 GiB are free" in line.evidence

    @pytest.mark.covers("C01")
    @pytest.mark.parametrize(("is_limited", "verdict"), [(True, "no-go"), (False, "warning")])
    def test_where_they_do_not_nothing_is_armed_and_the_number_that_fits_is_named(
        self, *, is_limited: bool, verdict: str
    ) -> None:
        line = room.disk_for(4, GIB, free_bytes=7 * GIB, is_limited=is_limited)
        assert (line.verdict, line.cure) == (verdict, "make room, or set max_parallel_agents = 2")

    @pytest.mark.parametrize("is_limited", [True, False])
    def test_where_not_even_one_fits_nothing_is_armed(self, *, is_limited: bool) -> None:
        line = room.disk_for(1, 3 * GIB, free_bytes=7 * GIB, is_limited=is_limited)
        assert (line.blocks, "not even one" in line.cure) == (True, True)

    @pytest.mark.parametrize(
        ("most_gib", "verdict", "cure"),
        [(0, "go", ""), (4, "go", ""), (5, "warning", "set max_parallel_agents = 3, or a lower memory_mib")],
    )
    def test_memory_that_the_machine_has_not_got_is_told_and_the_floor_holds_the_rest(
        self, most_gib: int, verdict: str, cure: str
    ) -> None:
        line = room.memory_for(4, most_gib * GIB, available=2 * GIB, total=16 * GIB)
        assert line.verdict == verdict
        assert line.cure.startswith(cure)

    def test_before_the_first_fetch_nothing_is_known_and_nothing_is_guessed(self) -> None:
        assert room.disk_for(4, None, free_bytes=0).cure == ""

    @pytest.mark.parametrize(
        ("load", "most", "told"), [(9.0, 8.0, 1), (8.0, 8.0, 0), (99.0, 0, 0), (None, 8.0, 0)]
    )
    def test_a_load_above_which_nothing_starts_is_told_and_blocks_nothing(
        self, load: float | None, most: float, told: int
    ) -> None:
        lines = list(room.busy(load, most))
        assert [(line.blocks, "max_load_per_cpu" in line.cure) for line in lines] == [(False, True)] * told


class TestPower:
    def test_a_machine_without_a_battery_runs_on_mains(self) -> None:
        assert power.power(Power()).cure == ""

    @pytest.mark.parametrize(
        ("is_on_mains", "percent", "blocks", "warns"),
        [
            (True, 5.0, False, False),
            (False, 80.0, False, True),
            (False, 19.0, True, True),
            (None, 50.0, False, False),
        ],
    )
    def test_a_battery_is_judged_by_what_is_left_in_it(
        self, is_on_mains: bool | None, percent: float, blocks: bool, warns: bool
    ) -> None:
        line = power.power(Power(is_on_mains=is_on_mains, percent=percent))
        assert (line.blocks, bool(line.cure)) == (blocks, warns)

    @pytest.mark.field_report("DMN-036")
    @pytest.mark.parametrize(("percent", "holds"), [(12, True), (80, False)])
    def test_a_battery_that_runs_low_in_the_night_is_a_hold(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, percent: int, holds: bool
    ) -> None:
        """Unplugged at one o'clock, it was launched into until the machine went out."""
        battery = SimpleNamespace(percent=percent, power_plugged=False)
        monkeypatch.setattr("psutil.sensors_battery", lambda: battery)
        (probe,) = (each for each in lines.of_configuration(scene(tmp_path)) if each.name == "power")
        assert (probe.asked_by, probe.hold, probe.scope) == (ALWAYS, "battery-low", "host")
        (line,) = probe.look(Limit(FakeClock(), 5.0))
        assert line.blocks == holds

    @pytest.mark.field_report("DMN-035")
    @pytest.mark.parametrize("action", ["suspend", "hibernate", None])
    def test_a_lid_that_suspends_whatever_lock_is_held_is_told(self, action: str | None) -> None:
        (line,) = power.lid(Power(has_lid=True, lid_action=action))
        assert "No sleep lock prevents that" in line.evidence
        assert "HandleLidSwitch=ignore" in line.cure

    @pytest.mark.parametrize(
        ("held_off", "is_on_mains", "is_told"),
        [
            ("always", False, False),
            ("on-mains", True, False),
            ("on-mains", False, True),
            ("never", True, True),
        ],
    )
    def test_a_lid_that_a_run_holds_off_is_in_order(
        self, held_off: str, is_on_mains: bool, is_told: bool
    ) -> None:
        seen = Power(has_lid=True, lid_action="suspend", is_on_mains=is_on_mains)
        (line,) = power.lid(seen, held_off=held_off)
        assert bool(line.cure) is is_told

    def test_a_lid_that_does_nothing_and_no_lid_are_in_order(self) -> None:
        (line,) = power.lid(Power(has_lid=True, lid_action="ignore"))
        assert line.cure == ""
        assert not list(power.lid(Power()))


class TestInstallations:
    def test_two_programs_of_our_name_are_told_apart_and_links_to_one_are_one(self, tmp_path: Path) -> None:
        for name in ("a", "b", "c", "d"):
            (tmp_path / name).mkdir()
        for name in ("a", "b"):
            (tmp_path / name / "autopilot").write_text("#!/bin/sh\n")
            (tmp_path / name / "autopilot").chmod(0o755)
        (tmp_path / "c" / "autopilot").symlink_to(tmp_path / "a" / "autopilot")
        (tmp_path / "d" / "autopilot").write_text("not executable")
        path = os.pathsep.join(str(tmp_path / name) for name in ("c", "a", "b", "d", "missing"))
        found = versions.on_path(f"relative:{path}")
        assert found == (tmp_path / "c" / "autopilot", tmp_path / "b" / "autopilot")
