"""Commands that open the queue without a daemon look first whether it may lie where it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.daemon import statedir
from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli

COMMANDS = (
    ("add", "A title"),
    ("list",),
    ("status",),
    ("why", "T-1"),
    ("on", "--now"),
    ("off",),
    ("cancel", "T-1"),
    ("backup",),
    ("gc",),
    ("gc", "--apply"),
    ("digest",),
    ("restore",),
    ("doctor",),
    ("doctor", "--set-aside"),
    ("doctor", "--compact"),
)


@pytest.mark.field_report("DMN-023")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("is_new", [False, True], ids=["a-queue", "no-queue"])
def test_dmn_023_no_command_opens_a_queue_on_a_shared_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], *, is_new: bool
) -> None:
    """DMN-023: the queue on a mount lent by a host was damaged by the log of two writers."""
    cli = Cli(tmp_path / "home", config="")
    if not is_new:
        cli.told("list")
    before = cli.paths.database.read_bytes() if not is_new else None
    monkeypatch.setattr(statedir, "mounted", lambda: {"/": "ext4", str(tmp_path): "virtiofs"})
    said = cli.call(*words)
    # `on` and `doctor` tell of everything that blocks; any other command of this alone.
    is_list = words[0] == "on" or words == ("doctor",)
    assert said.code == (ExitCode.REFUSED if is_list else ExitCode.CONFIG)
    assert "virtiofs" in said.out + said.err
    assert "AUTOPILOT_HOME" in said.out + said.err
    assert (cli.paths.database.read_bytes() if cli.paths.database.exists() else None) == before
