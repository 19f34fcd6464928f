from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tree import ROOT


def changelog(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(ROOT / "script" / "changelog.py"), str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\nAbout.\n\n## 0.1 - 2026-01-01\n\n- old\n")
    return tmp_path


def test_the_fragments_of_this_checkout_are_well_formed() -> None:
    done = changelog(ROOT, "check")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("some-topic.md", "No kind at all.\n"),
        ("some-topic.md", "Improved: an unknown kind.\n"),
        ("some-topic.md", "Added: two lines.\nAdded: in one file.\n"),
        ("some-topic.md", "Added: no full stop\n"),
        ("some-topic.md", "Added: " + "x" * 300 + ".\n"),
        ("Some Topic.md", "Added: a name with a space.\n"),
        ("some-topic.txt", "Added: another suffix.\n"),
    ],
)
def test_a_malformed_fragment_is_refused_and_named(root: Path, name: str, text: str) -> None:
    (root / "changelog.d" / name).write_text(text)
    done = changelog(root, "check")
    assert done.returncode == 1
    assert name in done.stderr


def test_a_release_gathers_the_fragments_above_the_last_one(root: Path) -> None:
    (root / "changelog.d" / "b.md").write_text("Fixed: the b.\n")
    (root / "changelog.d" / "a.md").write_text("Added: the a.\n")
    assert changelog(root, "release", "0.2", "2026-02-02").returncode == 0
    assert (root / "CHANGELOG.md").read_text() == (
        "# Changelog\n\nAbout.\n\n## 0.2 - 2026-02-02\n\n### Added\n\n- the a.\n\n### Fixed\n\n- the b.\n"
        "\n## 0.1 - 2026-01-01\n\n- old\n"
    )
    assert list((root / "changelog.d").iterdir()) == []


def test_a_release_with_a_malformed_fragment_changes_nothing(root: Path) -> None:
    (root / "changelog.d" / "a.md").write_text("nonsense\n")
    before = (root / "CHANGELOG.md").read_text()
    assert changelog(root, "release", "0.2", "2026-02-02").returncode == 1
    assert (root / "CHANGELOG.md").read_text() == before
