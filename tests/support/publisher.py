"""Runs the publisher: as the daemon does, or one part of it in this process, which is ten times faster.

It is given a person's secrets (`canary`) beside its own token; nothing of either may be in what it says, in
what it leaves, or in any command line.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from autopilot.config.paths import PUBLISH_EVENTS_FILE
from autopilot.config.secrets import VARIABLE_PREFIX
from autopilot.publish.checks.registry import CHECKS
from autopilot.publish.context import Context, Findings
from autopilot.publish.files import read_request, read_spec
from autopilot.publish.progress import Progress
from autopilot.publish.publisher import finish
from autopilot.publish.verdicts import Story
from autopilot.publish.workspace import workspace
from autopilot.schemas.publication import PublishSpec
from tests.support import canary
from tests.support.gitcmd import git
from tests.support.publication import Publication
from tests.support.tree import ROOT


@dataclass(frozen=True, slots=True)
class Published:
    """How one publisher process ended, and what it left."""

    code: int
    output: str
    verdict: dict[str, Any]
    events: list[dict[str, Any]]

    def check(self, name: str) -> dict[str, Any]:
        """The line of one check."""
        found: dict[str, Any] = next(line for line in self.verdict["checks"] if line["check"] == name)
        return found

    def reasons(self, name: str) -> str:
        """Everything one failed check found; empty when it passed."""
        line = self.check(name)
        return "" if line["passed"] else "\n".join(line["reasons"])

    @property
    def failed(self) -> list[str]:
        return [line["check"] for line in self.verdict["checks"] if not line["passed"]]


def publisher_environment(home: Path, **extra: str) -> dict[str, str]:
    """What the daemon gives a publisher, the token where the headless store looks for it; and more."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        **canary.ENVIRONMENT,
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "AUTOPILOT_HOME": str(home / "autopilot"),
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONWARNINGS": "error",
        **extra,
    }


def run_publisher(publication: Publication, *, cwd: Path | None = None, **extra: str) -> Published:
    """Start the publisher as the daemon does and wait for its end.

    Args:
        publication: its order and request are written first.
        cwd: where it starts.
        extra: more variables of its environment.
    """
    return start_publisher(publication, publication.write(), cwd=cwd, **extra)


def start_publisher(
    publication: Publication, spec_file: Path, *, cwd: Path | None = None, **extra: str
) -> Published:
    """As `run_publisher`, with files that were written before."""
    publication.verdict_file.unlink(missing_ok=True)
    done = spawn_publisher(spec_file, home=publication.root / "home", cwd=cwd or publication.root, **extra)
    return Published(
        done.returncode,
        done.stdout + done.stderr,
        read_verdict(publication),
        read_events(publication),
    )


def spawn_publisher(
    spec_file: Path, *, home: Path, cwd: Path, **extra: str
) -> subprocess.CompletedProcess[str]:
    """One publisher process, from its start to its end; no secret of its environment is to be seen then."""
    tokens = _tokens(extra)
    with canary.watched(*tokens):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "autopilot.publish", str(spec_file)],
            cwd=cwd,
            env=publisher_environment(home, **extra),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert not canary.holds(done.stdout + done.stderr, tokens), "the publisher tells a secret"
    canary.assert_unseen(home.parent, also=tokens)
    return done


def _tokens(environment: Mapping[str, str]) -> list[str]:
    return [value for name, value in environment.items() if name.startswith(VARIABLE_PREFIX)]


def read_verdict(publication: Publication) -> dict[str, Any]:
    """The verdict, empty when there is none."""
    path = publication.verdict_file
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def read_events(publication: Publication) -> list[dict[str, Any]]:
    """The progress lines of every try so far."""
    path = publication.folder / "publish-events.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def local_pull_requests(publication: Publication) -> list[dict[str, Any]]:
    """The embedded forge's records, oldest first."""
    folder = Path(publication.forge["record_dir"])
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("pr-*.json"))]


def branches(remote: Path) -> dict[str, str]:
    """Every branch of a repository and its commit."""
    listed = git(remote, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
    return dict(row.rsplit(" ", 1) for row in listed.splitlines())


def look(publication: Publication, *names: str) -> dict[str, Findings]:
    """Run these checks alone, in their order, in this process."""
    spec_file = publication.write()
    with workspace(read_spec(PublishSpec, spec_file).workdir) as folder:
        ctx = _context(spec_file, folder)
        return {check.name: check.run(ctx) for check in CHECKS if check.name in names}


def deliver_only(publication: Publication, environment: Mapping[str, str] | None = None) -> Published:
    """Fetch into staging and deliver, as if every check had passed, in this process.

    Args:
        publication: its order and request are written first.
        environment: variables that are set meanwhile.
    """
    spec_file = publication.write()
    with workspace(read_spec(PublishSpec, spec_file).workdir) as folder:
        ctx = _context(spec_file, folder)
        staged = next(check for check in CHECKS if check.name == "staging").run(ctx)
        assert staged.passed, staged.reasons
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (environment or {}).items():
                patch.setenv(name, value)
            verdict = finish(ctx, Story(spec=ctx.spec, now_ms=ctx.clock.now_ms()))
    canary.assert_unseen(publication.root, also=_tokens(environment or {}))
    return Published(0, "", json.loads(verdict.model_dump_json()), read_events(publication))


def _context(spec_file: Path, folder: Path) -> Context:
    clock, spec = SystemClock(), read_spec(PublishSpec, spec_file)
    request, fault = read_request(spec.request)
    return Context(
        spec=spec,
        request=request,
        request_fault=fault,
        git=Git(clock, scratch=folder / "git"),
        clock=clock,
        progress=Progress(spec_file.parent / PUBLISH_EVENTS_FILE, clock, spec.id),
        folder=folder,
    )
