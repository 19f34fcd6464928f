"""What an install gets is what the checkout has."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.tree import ROOT, tree_files


def build(kind: str, source: Path, out: Path) -> Path:
    """Build with the locked backend, offline, and return the one file it made."""
    command = [sys.executable, "-P", "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution."""
    made = build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(made) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python has it since 3.11.4
        archive.extractall(unpacked)  # noqa: S202 - we made it
    (root,) = unpacked.iterdir()
    return root


def test_a_wheel_built_from_the_sdist_equals_the_tree(sdist: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", sdist, tmp_path)) as wheel:
        packed = {name: wheel.read(name) for name in wheel.namelist() if name.startswith("autopilot/")}
    tree = {
        path.relative_to("src").as_posix(): (ROOT / path).read_bytes()
        for path in tree_files()
        if path.parts[0] == "src"
    }
    assert packed == tree


def test_the_sdist_holds_everything_that_the_scripts_need(sdist: Path) -> None:
    folders = {"src", "tests", "script", "docs", "requirements", "changelog.d"}
    wanted = {path for path in tree_files() if path.parts[0] in folders}
    wanted |= {Path("pyproject.toml"), Path("uv.lock"), Path("README.md"), Path("LICENSE")}
    assert [path for path in sorted(wanted) if not (sdist / path).is_file()] == []
