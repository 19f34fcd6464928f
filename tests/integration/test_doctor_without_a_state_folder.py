"""`doctor` is asked when the state folder cannot be used; it says so and never crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli
from tests.support.shop import CONFIG


@pytest.mark.parametrize("kind", ["a link to nowhere", "a file", "a home that takes no folder"])
def test_doctor_says_that_the_state_folder_cannot_be_used(tmp_path: Path, kind: str) -> None:
    cli = Cli(tmp_path / "home", config=CONFIG)
    env = {}
    if kind == "a link to nowhere":
        cli.paths.state.symlink_to("/nonexistent/folder")
    elif kind == "a file":
        cli.paths.state.write_text("")
    else:
        env = {"AUTOPILOT_HOME": "/dev/null"}
    said = cli.run("doctor", env=env)
    assert said.code == ExitCode.REFUSED, said
    assert "✗ state" in said.out
    assert "bug" not in said.out + said.err
