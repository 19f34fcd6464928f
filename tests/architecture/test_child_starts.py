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

NO_CHECKS = frozenset(f"autopilot.publish.{part}" for part in ("checks.registry", "publisher"))
NO_TEXTS = frozenset(f"autopilot.schemas.{part}" for part in ("delivery", "tracking"))

RUN = "from autopilot.runner.__main__ import main; main(['run', 'none.json'])"
VERIFY = "from autopilot.runner.__main__ import main; main(['verify', 'none.json', 'out.json'])"
PUBLISH = "from autopilot.publish.__main__ import main; main(['none.json'])"
QUESTION = "from autopilot.publish.__main__ import main; main(['state', 'none.json'])"
DELIVER = "from autopilot.publish.__main__ import main; main(['deliver', 'none.json'])"
TIDY = "from autopilot.daemon.gc.__main__ import main; main(['tidy', '.', 'config.toml', 'logs'])"
LOOK = "from autopilot.daemon.checkup import everything, lines, machine_lines"
STARTS = {
    "run": (RUN, NEVER | NO_QUEUE | NO_RECORD | NO_GUARD | NO_REQUEST),
    "verify": (VERIFY, NEVER | NO_QUEUE | NO_RECORD | NO_GUARD | NO_AGENT | NO_REQUEST),
    "publish": (PUBLISH, NEVER | NO_QUEUE | NO_RECORD | NO_TEXTS),
    "question": (QUESTION, NEVER | NO_QUEUE | NO_RECORD | NO_CHECKS | NO_TEXTS),
    "deliver": (DELIVER, NEVER | NO_QUEUE | NO_RECORD | NO_CHECKS),
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


# What reads the queue comes with SQLAlchemy, which brings parts of the network with it.
OF_THE_QUEUE = {
    "clean-up": (TIDY, NEVER - {"ssl", "structlog"} | NO_GUARD | {"autopilot.daemon.app"}),
    "check-up": (LOOK, NEVER - {"ssl"} | NO_GUARD | {"autopilot.daemon.app", "autopilot.daemon.desk"}),
}


@pytest.mark.parametrize("child", STARTS)
def test_a_child_has_loaded_nothing_that_its_deed_does_not_need(child: str, tmp_path: Path) -> None:
    code, refused = STARTS[child]
    assert told_by(f"{code}; import sys; print(sorted({refused!r} & sys.modules.keys()))", tmp_path) == "[]"


@pytest.mark.parametrize("child", OF_THE_QUEUE)
def test_a_child_that_reads_the_queue_has_loaded_nothing_else(child: str, tmp_path: Path) -> None:
    code, refused = OF_THE_QUEUE[child]
    told_by(code, tmp_path)  # which makes the queue, by migrations that are needed once
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


def test_who_opens_the_queue_loads_the_dialect_of_sqlite_alone(tmp_path: Path) -> None:
    code = (
        "import sys, autopilot.daemon.desk, autopilot.daemon.store.engine;"
        "print(sorted(name for name in sys.modules if name.startswith('sqlalchemy.dialects.p')))"
    )
    assert told_by(code, tmp_path) == "[]"
