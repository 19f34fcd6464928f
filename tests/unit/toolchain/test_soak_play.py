from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.soak.play import Play, left_running, summary


def test_a_process_that_knows_the_folder_is_found_until_it_ends(tmp_path: Path) -> None:
    home = tmp_path / "home"
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, str(home)], stdin=subprocess.PIPE) as process:
        assert any(line.startswith(f"{process.pid} ") for line in left_running(home))
        process.communicate()
    assert left_running(home) == ()


def test_a_play_that_leaves_something_running_counts_as_failed() -> None:
    plays = [Play(0, 1.0, (), ""), Play(0, 3.0, ("1 x",), ""), Play(1, 2.0, (), "")]
    assert summary(plays) == "1 passed, 2 failed; median 2.0 s, slowest 3.0 s"
