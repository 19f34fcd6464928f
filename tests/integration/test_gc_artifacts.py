"""Copying a run's artefacts out while somebody else works in the same folders."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from autopilot.daemon.gc.artifacts import PIPELINE, copy_artifacts

TURNS = 8
STEADY = 40


@pytest.mark.field_report("GIT-025")
def test_git_025_files_and_folders_that_come_and_go_meanwhile_are_no_failure(tmp_path: Path) -> None:
    """GIT-025: a lock file that was gone by the time it was copied made the step fail."""
    run_dir, worktree = tmp_path / "run", tmp_path / "worktree"
    for folder in (run_dir / "gates", worktree / PIPELINE):
        folder.mkdir(parents=True)
        for number in range(STEADY):
            (folder / f"{number:02d}.txt").write_text(f"{number}")
    (run_dir / "events.jsonl").write_text("{}\n")
    over, flickered = threading.Event(), threading.Event()

    def flicker() -> None:
        while not over.is_set():
            for folder in (run_dir / "gates", worktree / PIPELINE):
                with suppress(OSError):
                    (folder / "maintenance.lock").write_text("gone in a moment")
                    (folder / "a" / "b").mkdir(parents=True)
                    (folder / "a" / "b" / "c.txt").touch()
                    (folder / "maintenance.lock").unlink()
                    (folder / "a" / "b" / "c.txt").unlink()
                    (folder / "a" / "b").rmdir()
                    (folder / "a").rmdir()
            flickered.set()

    helper = threading.Thread(target=flicker)
    helper.start()
    try:
        assert flickered.wait(60)
        for turn in range(TURNS):
            target = tmp_path / "salvage" / f"{turn}"
            assert copy_artifacts(run_dir, target, worktree=worktree) >= 2 * STEADY + 1
            for name in ("gates", PIPELINE):
                for number in range(STEADY):
                    assert (target / name / f"{number:02d}.txt").read_text() == f"{number}"
    finally:
        over.set()
        helper.join()
