"""Whole runs of the real clients, in the cell, with a scripted model: a plug-in of `tests/conftest.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from autopilot.schemas.run import RunResult, RunSpec
from tests.support.cell_clients import CLAUDE, CODEX, KEY, Client
from tests.support.fixtures import MakeModel
from tests.support.repos import Repo, make_repo
from tests.support.runs import Host, events_of, run_here
from tests.support.scenarios.steps import Scenario, Step
from tests.support.small_project import small_project

Play = Callable[..., tuple[RunSpec, RunResult]]


@pytest.fixture(params=[CLAUDE, CODEX], ids=["claude", "codex"])
def real_client(request: pytest.FixtureRequest) -> Client:
    """Each of the real clients."""
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

    def played(repo: Repo, *steps: Step, **changes: Any) -> tuple[RunSpec, RunResult]:  # noqa: ANN401
        model = make_model(Scenario((*steps, Step("Done."))))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        spec = Host(tmp_path / "state").spec(repo, real_client.agent(binary, model), **changes)
        return spec, run_here(spec)

    return played


def checked_repo(root: Path, *, check: str = "", files: Mapping[str, str] | None = None) -> Repo:
    """The small project, whose check does something more before it looks."""
    extra = {**(files or {}), "check.sh": check + small_project().files["check.sh"]}
    return make_repo(root, project=small_project(), extra_files=extra)


def refusals(spec: RunSpec) -> list[tuple[str, str]]:
    """What the guard refused: the tool, and what it was to do."""
    return [(event["tool"], event["about"]) for event in events_of(spec, "guard.refused")]
