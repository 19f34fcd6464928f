"""Asks the publish part what became of pull requests: as the daemon does, or in this process."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from autopilot.publish.files import read_spec
from autopilot.publish.inquiry import inquire
from autopilot.publish.workspace import workspace
from autopilot.schemas.publication import PullState, PullStateReport, PullStateSpec
from tests.support.publisher import publisher_environment

Answers = dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and where the files of it lie; `pulls` are number and branch by publication."""

    root: Path
    forge: Mapping[str, Any]
    pulls: Mapping[str, tuple[int, str]]
    changed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.root / "state" / "drafts"

    @property
    def report_file(self) -> Path:
        return self.folder / "report.json"

    def write(self) -> Path:
        """Put the order in place; gives its path."""
        spec = {
            "id": "Q-1",
            "report": str(self.report_file),
            "workdir": str(self.folder / "work"),
            "forge": self.forge,
            "pulls": [
                {"publication": name, "number": number, "branch": branch}
                for name, (number, branch) in self.pulls.items()
            ],
            "wall_s": 20,
            "kill_grace_s": 1,
            "created_ms": 1,
            **self.changed,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "spec.json"
        path.write_text(json.dumps(spec), encoding="utf-8")
        return path

    def report(self) -> PullStateReport:
        """The report that a process wrote."""
        return PullStateReport.model_validate_json(self.report_file.read_bytes())

    def leftovers(self) -> list[str]:
        """What is left in the work folder."""
        return sorted(path.name for path in (self.folder / "work").iterdir())


def ask_here(question: Question, environment: Mapping[str, str] | None = None) -> Answers:
    """Ask in this process; gives state and code by publication."""
    spec = read_spec(PullStateSpec, question.write())
    with pytest.MonkeyPatch.context() as patch, workspace(spec.workdir) as folder:
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        return by_publication(inquire(spec, clock=SystemClock(), folder=folder).answers)


def by_publication(answers: tuple[PullState, ...]) -> Answers:
    """State and code of each answer."""
    return {each.publication: (each.state, each.code) for each in answers}


def start_asking(question: Question, **extra: str) -> subprocess.Popen[str]:
    """Start the process as the daemon does."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "autopilot.publish", "state", str(question.write())],
        cwd=question.folder,
        env=publisher_environment(question.root / "home", **extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish_asking(asking: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for its end; gives its exit code and what it said."""
    said, _ = asking.communicate(timeout=60)
    return asking.returncode, said
