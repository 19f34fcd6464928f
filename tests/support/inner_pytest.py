"""Runs pytest on a made-up test file, for tests of our own plugins."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.tree import ROOT

PLUGINS = (
    "tests.support.features",
    "tests.support.needs",
    "tests.support.left_out",
    "tests.support.at_once",
    "tests.support.signals_kept",
    "tests.support.planted",
)
NOT_THESE = ("no:hypothesispytest", "no:anyio")
"""They import more than all the rest, for nothing that a made-up test does."""


def run_pytest(
    folder: Path,
    source: str,
    *options: str,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Write the source as a test module into the folder and run it under our plugins.

    `before` is put before the command, for what stands between a shell and it.
    """
    module = folder / "test_made_up.py"
    module.write_text(source, encoding="utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    covers(*ids): x\n    needs(binary, apt): x\n    slow: x\n    rare: x\n",
        encoding="utf-8",
    )
    # A folder of its own: at its end pytest clears away what runs before left in the usual one, for minutes.
    place = f"--basetemp={folder / 'inner'}"
    plugins = [word for plugin in (*PLUGINS, *NOT_THESE) for word in ("-p", plugin)]
    return subprocess.run(
        [
            *before,
            sys.executable,
            "-m",
            "pytest",
            *plugins,
            "-p",
            "no:cacheprovider",
            place,
            *options,
            str(module),
        ],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
            "CI": "",
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
