"""Which sandbox a machine gives, and that without one nothing is started unless somebody wrote that down."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner.sandbox.confinement import SandboxMissing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.run import Outcome
from tests.support.cli import Cli
from tests.support.repo_traps import write_script
from tests.support.runs import Host, run_here
from tests.support.small_project import small_repo

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seatbelt is a sandbox on macOS")
ELSEWHERE = SandboxSpec(kind="seatbelt")
"""A kind that this machine cannot have."""


@pytest.fixture
def broken_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bubblewrap that may make no namespaces, first on PATH."""
    words = "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"
    write_script(tmp_path / "bin" / "bwrap", words)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")


@pytest.mark.usefixtures("broken_bubblewrap")
def test_a_bubblewrap_that_does_not_work_is_found_out_before_anything_is_started() -> None:
    with pytest.raises(SandboxMissing, match="Permission denied") as caught:
        open_sandbox(SandboxSpec(kind="bubblewrap"), SystemClock()).check()
    assert caught.value.code == "sandbox-missing"


@pytest.mark.usefixtures("broken_bubblewrap")
def test_auto_takes_what_works_and_never_none() -> None:
    assert open_sandbox(SandboxSpec(), SystemClock()).kind in {"landlock", "missing"}


@pytest.mark.needs(binary="bwrap", apt="bubblewrap")
def test_auto_takes_bubblewrap_first() -> None:
    assert open_sandbox(SandboxSpec(), SystemClock()).kind == "bubblewrap"


def test_a_run_without_its_sandbox_ends_by_name_before_an_agent_is_started(
    host: Host, tmp_path: Path
) -> None:
    spec = host.spec(small_repo(tmp_path / "theirs"), sandbox=ELSEWHERE)
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, "sandbox-missing")
    assert "macOS" in result.message
    assert result.hint
    assert not spec.worktree.exists()
    assert list(spec.run_dir.glob("agent-*.log")) == []


def test_what_would_show_our_state_is_no_sandbox(host: Host, tmp_path: Path) -> None:
    sandbox = SandboxSpec(readable=(tmp_path,), sealed=(host.state,))
    result = run_here(host.spec(small_repo(tmp_path / "theirs"), sandbox=sandbox))
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, "sandbox-missing")
    assert str(tmp_path) in result.message


@pytest.mark.parametrize(("kind", "finding"), [("none", "warning"), ("seatbelt", "blocked")])
def test_doctor_tells_what_runs_are_locked_up_in(tmp_path: Path, kind: str, finding: str) -> None:
    said = Cli(tmp_path / "home", config=f'[sandbox]\nkind = "{kind}"\n').run("doctor", "--json")
    (line,) = [each for each in json.loads(said.out)["checks"] if each["name"] == "sandbox"]
    assert line["finding"] == finding
    assert line["cure"]
