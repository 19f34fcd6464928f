"""Reading a small file takes little memory, however much it might have held."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.config.foreign_file import read_plain
from autopilot.config.journal import read_lines

_MIB = 1024 * 1024


@pytest.mark.parametrize(
    "read",
    [lambda path: read_plain(path, max_bytes=64 * _MIB), lambda path: read_lines(path, max_bytes=64 * _MIB)],
    ids=["a whole file", "lines"],
)
def test_a_small_file_takes_little_memory(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(b'{"a": 1}\n')
    tracemalloc.start()
    read(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < _MIB


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux has such files")
def test_a_file_that_does_not_say_its_size_is_read_whole() -> None:
    assert read_plain(Path("/proc/self/stat"), max_bytes=_MIB).endswith(b"\n")
