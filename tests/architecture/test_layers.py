"""import-linter's contracts hold, and they bite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import PARTS
from tests.support.tree import ROOT


def lint_imports(source: Path, config: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-logo", "--no-cache", "--config", config],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    """The six rooms, empty."""
    for part in PARTS:
        folder = tmp_path / "autopilot" / part
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    (tmp_path / "autopilot" / "__init__.py").touch()
    return tmp_path


def test_the_imports_of_the_checkout_keep_every_contract() -> None:
    done = lint_imports(ROOT / "src", ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_empty_rooms_keep_every_contract(rooms: Path) -> None:
    assert lint_imports(rooms, ROOT / "pyproject.toml").returncode == 0


@pytest.mark.covers("C06")
@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("schemas/x.py", "import autopilot.config"),
        ("config/x.py", "import autopilot.runner"),
        ("runner/x.py", "import autopilot.publish"),
        ("publish/x.py", "import autopilot.launchd"),
        ("launchd/x.py", "import autopilot.daemon"),
        ("runner/x.py", "import sqlalchemy"),
        ("config/x.py", "def f():\n    import sqlite3"),
        ("publish/x.py", "from apscheduler import events"),
        ("daemon/x.py", "import httpx"),
        ("config/x.py", "import keyring"),
        ("schemas/x.py", "import psutil"),
        ("utils/__init__.py", ""),
    ],
)
def test_a_forbidden_import_or_room_breaks_a_contract(rooms: Path, module: str, text: str) -> None:
    path = rooms / "autopilot" / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert lint_imports(rooms, ROOT / "pyproject.toml").returncode == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("daemon/x.py", "import sqlalchemy, alembic, apscheduler\nimport autopilot.runner"),
        ("publish/x.py", "import httpx\nimport autopilot.config"),
        ("config/secrets.py", "import keyring"),
    ],
)
def test_an_import_in_its_own_room_keeps_the_contracts(rooms: Path, module: str, text: str) -> None:
    (rooms / "autopilot" / module).write_text(text)
    done = lint_imports(rooms, ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout
