"""Another package's plugin for pydantic, beside us in the same environment, sees none of our records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tree import ROOT

# Each reads a record and ends by itself: that of the queue's commands is the configuration.
STARTS = {
    "runner": ("-m", "autopilot.runner", "run", "record.json"),
    "verification": ("-m", "autopilot.runner", "verify", "record.json", "out.json"),
    "publisher": ("-m", "autopilot.publish", "record.json"),
    "clean-up": ("-m", "autopilot.daemon.gc", "tidy", "state", "config.toml", "logs"),
    "command": ("-m", "autopilot.daemon.cli", "config", "show"),
}
PLUGIN = "from pathlib import Path\nPath('seen').touch()\nplugin = None\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with records that are none, and an installed plugin that tells that it was loaded."""
    (tmp_path / "seen_plugin.py").write_text(PLUGIN)
    installed = tmp_path / "seen_plugin-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: seen-plugin\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[pydantic]\nseen = seen_plugin\n")
    (tmp_path / "record.json").write_text("{}")
    (tmp_path / "config.toml").write_text("")
    (tmp_path / "state").mkdir()
    return tmp_path


def start(folder: Path, *argv: str) -> None:
    subprocess.run(
        [sys.executable, "-P", *argv],
        env={
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(folder)]),
            "AUTOPILOT_HOME": str(folder),
            "PATH": os.defpath,
        },
        cwd=folder,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("process", STARTS)
def test_a_plugin_of_another_package_is_not_let_into_our_processes(process: str, folder: Path) -> None:
    start(folder, *STARTS[process])
    assert not (folder / "seen").exists()


def test_the_plugin_would_be_loaded_by_whoever_does_not_refuse_it(folder: Path) -> None:
    start(folder, "-c", "from autopilot.schemas.network import NetworkSpec; NetworkSpec()")
    assert (folder / "seen").exists()
