"""A copy that a person asked for takes a name that is free, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.daemon.store import backup, copies
from autopilot.daemon.store.engine import Store
from autopilot.schemas.errors import RefusedError


@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_somebody_made_meanwhile_is_not_replaced(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    target, read_back = place / "mine.db", backup._read_back  # noqa: SLF001 - the last moment before the name

    def slow(database: Path, part: Path, expected: tuple[tuple[str, int], ...]) -> copies.Copy:
        target.write_text("somebody's", encoding="utf-8")
        return read_back(database, part, expected)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(backup, "_read_back", slow)
        if not has_links:
            patch.setattr(Path, "hardlink_to", refuse)
        with pytest.raises(RefusedError, match="is there already"):
            backup.write(store.database, target)
        assert [path.read_text(encoding="utf-8") for path in place.iterdir()] == ["somebody's"]
        target.unlink()
        patch.setattr(backup, "_read_back", read_back)
        assert backup.write(store.database, target).fault == ""
    assert list(place.iterdir()) == [target]
