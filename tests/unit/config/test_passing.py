"""What others take away meanwhile is no fault; what may not be asked is."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.passing import size_of, status_of
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup import host, notices
from autopilot.schemas.checkup import CheckVerdict
from tests.support import queue


def test_what_is_there_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"four")
    status = status_of(tmp_path / "a")
    assert status is not None
    assert (size_of(tmp_path / "a"), status.st_size) == (4, 4)


@pytest.mark.parametrize("name", ["gone", "a/below", "dangling"])
def test_what_is_not_there_is_none_and_nothing_large(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").write_bytes(b"four")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert (status_of(tmp_path / name), size_of(tmp_path / name)) == (None, 0)


def test_any_other_fault_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match="symbolic links"):
        status_of(tmp_path / "loop")


def test_a_log_that_is_rotated_away_while_its_folder_is_looked_at_makes_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = paths_below(tmp_path)
    paths.ensure()
    (paths.logs / "autopilot.jsonl.5").write_text("old")

    def is_file(self: Path) -> bool:
        self.unlink()
        return True

    monkeypatch.setattr(Path, "is_file", is_file)
    assert notices.logs(paths).verdict is CheckVerdict.GO


def test_a_database_that_is_closed_while_it_is_looked_at_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever closes it last takes its write-ahead log away: here after it was asked for."""
    paths = paths_below(tmp_path)
    queue.new_store(paths.ensure().state).close()
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: self.name.endswith("-wal") or exists(self))
    assert host.database(paths, SystemClock()).verdict is CheckVerdict.GO
