"""The log of a daemon brings no renderer for terminals with it."""

from __future__ import annotations

import subprocess
import sys

from tests.support.tree import ROOT

_CODE = """
import sys
from pathlib import Path
from autopilot.config import logs
from autopilot.config.clock import SystemClock
assert "structlog" not in sys.modules, "it is imported before anything is logged"
logs.setup(Path(sys.argv[1]), clock=SystemClock(), stderr=False, max_size_mib=1, keep_files=1).close()
print(sorted({"structlog", "rich", "pygments"} & sys.modules.keys()))
import rich.console
logs.setup(Path(sys.argv[1]), clock=SystemClock(), stderr=False, max_size_mib=1, keep_files=1).close()
print(sys.modules["rich"].__name__)
"""


def test_structlog_comes_without_rich_and_rich_can_still_be_had(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", _CODE, str(tmp_path)],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "['structlog']\nrich\n")
