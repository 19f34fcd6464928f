"""An agent's program that is too old for the guard is refused before anything is done or paid."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup import configured
from autopilot.runner.agents.release import Release, release_in
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.runs import Host, events_of, run_here
from tests.support.small_project import small_repo


def program(folder: Path, says: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "claude"
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("says", "code", "named"),
    [
        ("echo '2.1.294 (Claude Code)'", "agent-too-old", "2.1.295"),
        ("echo '1.99.999 (Claude Code)'", "agent-too-old", "2.1.295"),
        ("echo Welcome", "agent-release-unknown", "Welcome"),
        ("echo '2.1.332 (Claude Code)'; exit 3", "agent-release-unknown", "2.1.332"),
        ("exec /nowhere/node", "agent-release-unknown", "/nowhere/node"),
    ],
)
def test_a_client_whose_hooks_fail_open_is_refused_before_a_worktree_is_made(
    host: Host, tmp_path: Path, says: str, code: str, named: str
) -> None:
    agent = AgentSpec(name="claude", kind="claude", argv=(str(program(tmp_path / "bin", says)),))
    spec = host.spec(small_repo(tmp_path / "theirs"), agent)
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, code)
    assert named in result.message
    assert "npm install" in result.hint
    assert result.usage.known
    assert not spec.worktree.exists()
    assert events_of(spec, "agent.started") == []


@pytest.mark.parametrize(
    ("told", "release"),
    [
        (b"2.1.295 (Claude Code)\n", Release(2, 1, 295)),
        (b"codex-cli 0.171.0\n", Release(0, 171, 0)),
        (b"v10.0.0-beta.1", Release(10, 0, 0)),
        (b"2.1\n", None),
        (b"127.0.0.1.1", Release(127, 0, 0)),
        (b"", None),
    ],
)
def test_the_release_is_the_first_three_numbers(told: bytes, release: Release | None) -> None:
    assert release_in(told) == release


def test_releases_are_compared_as_numbers() -> None:
    assert Release(2, 1, 1000) > Release(2, 1, 295) > Release(2, 1, 99)


def test_doctor_has_a_line_for_it(tmp_path: Path) -> None:
    old = program(tmp_path / "bin", "echo 2.1.197")
    (tmp_path / "config.toml").write_text(f'[agents.claude]\nargv = ["{old}"]\n')
    settings = load(paths_below(tmp_path))
    (check,) = configured.agent_release("claude", settings, SystemClock())
    assert check.blocks
    assert "2.1.197" in check.evidence
    assert "npm install" in check.cure
    program(tmp_path / "bin", "echo 2.1.295")
    (check,) = configured.agent_release("claude", settings, SystemClock())
    assert not check.blocks
