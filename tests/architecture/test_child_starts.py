"""What a child of the daemon has loaded when it turns to its deed: its own parts, nothing by accident."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tree import ROOT

# No child speaks to a terminal, keeps hours, or asks a key ring or a server before it knows why.
NEVER = frozenset(
    {"alembic", "apscheduler", "git", "h11", "httpx", "keyring", "rich", "shtab", "ssl", "structlog"}
)
# The queue is the daemon's, and what lists the processes of other systems is seldom asked.
NO_QUEUE = frozenset({"asyncio", "psutil", "sqlalchemy", "sqlite3"})
# What pydantic needs to build the first record: nothing is built before there is one to read.
NO_RECORD = frozenset({"email", "importlib.metadata"})
NO_GUARD = frozenset({"autopilot.runner.guard.judge", "autopilot.runner.guard.service"})
NO_REQUEST = frozenset({"autopilot.schemas.publication"})
NO_AGENT = frozenset(f"autopilot.runner.{part}" for part in ("agents.events", "pipeline", "session", "state"))

RUN = "from autopilot.runner.__main__ import main; main(['run', 'none.json'])"
VERIFY = "from autopilot.runner.__main__ import main; main(['verify', 'none.json', 'out.json'])"
STARTS = {
    "run": (RUN, NEVER | NO_QUEUE | NO_RECORD | NO_GUARD | NO_REQUEST),
    "verify": (VERIFY, NEVER | NO_QUEUE | NO_RECORD | NO_GUARD | NO_AGENT | NO_REQUEST),
}


def told_by(code: str, folder: Path) -> str:
    """Run code as a child of ours runs, and give what it prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("child", STARTS)
def test_a_child_has_loaded_nothing_that_its_deed_does_not_need(child: str, tmp_path: Path) -> None:
    code, refused = STARTS[child]
    assert told_by(f"{code}; import sys; print(sorted({refused!r} & sys.modules.keys()))", tmp_path) == "[]"


@pytest.mark.parametrize("child", STARTS)
def test_a_child_has_built_no_record_before_there_is_one_to_read(child: str, tmp_path: Path) -> None:
    code, _ = STARTS[child]
    built = (
        "from pydantic import BaseModel\n"
        "def below(kind):\n"
        "    return {kind}.union(*map(below, kind.__subclasses__()))\n"
        "ours = [each for each in below(BaseModel) if each.__module__.startswith('autopilot.')]\n"
        "assert len(ours) > 10\n"
        "print(sorted(each.__name__ for each in ours if each.__pydantic_complete__))"
    )
    assert told_by(f"{code}\n{built}", tmp_path) == "[]"
