"""`script/soak --runs` plays runs through a real daemon and says what grew."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.soak.light import soak_light
from tests.soak.runs import MAY_GROW_KIB, Sample, faults, soak


@pytest.mark.rare
@pytest.mark.timeout(600)
@pytest.mark.field_report("DMN-050")
def test_dmn_050_a_real_daemon_that_has_done_four_runs_holds_what_it_held_after_two(tmp_path: Path) -> None:
    samples = list(soak(tmp_path, runs=4, every=2))
    assert [sample.runs for sample in samples] == [2, 4]
    assert faults(samples) == []
    assert all(sample.children == 0 for sample in samples)
    assert all(sample.memory_kib > 0 < sample.database_kib for sample in samples)
    assert samples[-1].folders_kib["runs"] > samples[0].folders_kib["runs"] > 0, "the sizes are real"


@pytest.mark.rare
@pytest.mark.timeout(600)
@pytest.mark.field_report("DMN-050")
def test_dmn_050_runs_that_leave_what_a_real_one_left_go_through_the_same_daemon(tmp_path: Path) -> None:
    samples = list(soak_light(tmp_path, runs=6, every=3))
    assert [sample.runs for sample in samples] == [3, 6]
    assert faults(samples) == []
    first, last = samples
    assert last.folders_kib["runs"] - first.folders_kib["runs"] > 3 * 950, "each has printed its megabyte"
    if psutil.LINUX:
        assert 0 < last.dirty_kib < last.pss_kib < last.memory_kib


def test_what_grows_is_told() -> None:
    first = Sample(20, 90_000, 30, 5, 0, 400, {"runs": 1})
    assert faults([first]) == faults([first, first._replace(runs=2000, database_kib=9_000)]) == []
    grown = first._replace(memory_kib=first.memory_kib + MAY_GROW_KIB + 1, descriptors=80, threads=9)
    assert faults([first, grown]) == [
        f"memory grew by {MAY_GROW_KIB + 1} KiB",
        "descriptors grew from 30 to 80",
        "threads grew from 5 to 9",
    ]
