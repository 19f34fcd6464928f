"""Whole runs of the real clients in the cell, and key brokers: a plug-in of `tests/conftest.py`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest

from autopilot.runner.guard.selftest import client_command
from autopilot.runner.guard.service import GuardService
from autopilot.schemas.run import RunResult, RunSpec
from tests.support.broker_desk import Desk, MakeDesk
from tests.support.cell_clients import CLAUDE, CODEX, KEY, Client
from tests.support.fixtures import MakeModel
from tests.support.repos import Repo, make_repo
from tests.support.runs import Host, events_of, run_here
from tests.support.scenarios.steps import Scenario, Step
from tests.support.small_project import small_project

Play = Callable[..., tuple[RunSpec, RunResult]]
HANGING = """\
import subprocess, sys, time
event = sys.stdin.buffer.read()
if b"touch hung" in event:
    time.sleep(100)
sys.exit(subprocess.run(sys.argv[1:], input=event).returncode)
"""


class Silent(GuardService):
    """A guard that proves itself, and falls silent when it is asked about one command."""

    over = threading.Event()

    def answer(self, event: bytes, *, since_s: float) -> bytes:
        if b"touch hung" in event:
            self.over.wait(60)
        return super().answer(event, since_s=since_s)


@pytest.fixture
def silent_guard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The guard says nothing to `touch hung`."""
    Silent.over.clear()
    monkeypatch.setattr("autopilot.runner.guard.service.GuardService", Silent)
    yield
    Silent.over.set()


@pytest.fixture
def hanging_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook's command hangs for `touch hung`, and is the real one for all else."""
    monkeypatch.setattr(
        "autopilot.runner.sentry.client_command",
        lambda socket: (sys.executable, "-I", "-c", HANGING, *client_command(socket)),
    )


@pytest.fixture(params=[CLAUDE, CODEX], ids=["claude", "codex"])
def real_client(request: pytest.FixtureRequest) -> Client:
    """Claude Code and Codex; a test may name others by an indirect parameter."""
    found: Client = request.param
    return found


@pytest.fixture
def play_real(
    real_client: Client, make_model: MakeModel, tmp_path: Path, request: pytest.FixtureRequest
) -> Play:
    """A whole run of this client below `tmp_path/state`, whose model takes these steps and is done."""
    binary = request.getfixturevalue(f"{real_client.name}_binary")
    monkeypatch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    monkeypatch.setenv(real_client.key_variable, KEY)

    def played(
        repo: Repo,
        *steps: Step,
        broker: Literal["auto", "off"] = "auto",
        **changes: Any,  # noqa: ANN401
    ) -> tuple[RunSpec, RunResult]:
        model = make_model(Scenario((*steps, Step("Done."))))
        if real_client.base_variable:
            monkeypatch.setenv(real_client.base_variable, model.url)
        agent = real_client.agent(binary, model).model_copy(update={"broker": broker})
        spec = Host(tmp_path / "state").spec(repo, agent, **changes)
        return spec, run_here(spec)

    return played


@pytest.fixture
def make_desk(tmp_path: Path) -> Iterator[MakeDesk]:
    """Key brokers, each with the service behind it that a test tells what to answer."""
    with ExitStack() as stack:

        def make(*args: Any, **changes: Any) -> Desk:  # noqa: ANN401
            return Desk(tmp_path, stack, *args, **changes)

        yield make


def checked_repo(root: Path, *, check: str = "", files: Mapping[str, str] | None = None) -> Repo:
    """The small project, whose check does something more before it looks."""
    extra = {**(files or {}), "check.sh": check + small_project().files["check.sh"]}
    return make_repo(root, project=small_project(), extra_files=extra)


def refusals(spec: RunSpec) -> list[tuple[str, str]]:
    """What the guard refused: the tool, and what it was to do."""
    return [(event["tool"], event["about"]) for event in events_of(spec, "guard.refused")]
