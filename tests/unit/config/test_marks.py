"""A child is found again by its mark, and another daemon's child is not."""

from __future__ import annotations

from pathlib import Path

from autopilot.config.paths import paths_below


def test_a_mark_is_the_same_for_a_state_folder_and_another_for_each_other(tmp_path: Path) -> None:
    mine, again, other = (paths_below(tmp_path / name) for name in ("a", "a", "b"))
    assert mine.mark("gc") == again.mark("gc")
    assert mine.mark("gc").startswith("gc-")
    assert len({mine.mark("gc"), mine.mark("checkup"), other.mark("gc")}) == 3
