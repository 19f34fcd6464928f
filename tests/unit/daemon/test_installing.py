"""What an installation's service is told about keeping awake."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.daemon.installing import service_of
from tests.support.shop import Stage


@pytest.mark.covers("D01", "D02")
@pytest.mark.parametrize(
    ("config", "options"), [("", ("-s", "-i")), ("[awake]\ndisplay = true\n", ("-s", "-i", "-d"))]
)
def test_on_a_mac_caffeinate_holds_from_on_to_off_and_the_display_too_where_asked_for(
    tmp_path: Path, config: str, options: tuple[str, ...]
) -> None:
    stage = Stage(tmp_path)
    stage.paths.config_file.write_text(stage.paths.config_file.read_text() + config)
    stage.current.refresh()
    service = service_of(stage.paths, stage.settings, platform="darwin")
    assert service.keep_awake == ("/usr/bin/caffeinate", *options)
    stage.store.close()
