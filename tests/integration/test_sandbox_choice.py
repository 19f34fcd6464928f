"""Which sandbox a machine gives, and that without one nothing is started unless somebody wrote that down."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from autopilot.config import environ
from autopilot.config.clock import SystemClock
from autopilot.runner.sandbox.cells import Cells
from autopilot.runner.sandbox.confinement import SandboxMissing
from autopilot.runner.sandbox.missing import Missing
from autopilot.runner.sandbox.registry import open_sandbox
from autopilot.schemas.cell import SandboxSpec
from autopilot.schemas.run import Outcome
from tests.support.cells import locked_up
from tests.support.cli import Cli
from tests.support.repo_traps import write_script
from tests.support.runs import OPEN, Host, events_of, run_here
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


@pytest.mark.parametrize(("kind", "verdict"), [("none", "warning"), ("seatbelt", "no-go")])
def test_doctor_tells_what_runs_are_locked_up_in(tmp_path: Path, kind: str, verdict: str) -> None:
    said = Cli(tmp_path / "home", config=f'[sandbox]\nkind = "{kind}"\n').run("doctor", "--json")
    (line,) = [each for each in json.loads(said.out)["checks"] if each["name"] == "sandbox"]
    assert line["verdict"] == verdict
    assert line["cure"]


@pytest.mark.usefixtures("broken_bubblewrap")
@pytest.mark.parametrize(("kind", "why"), [("auto", "Permission denied"), ("landlock", "as configured")])
def test_doctor_warns_of_a_weaker_kind_and_says_why_it_was_taken(tmp_path: Path, kind: str, why: str) -> None:
    if isinstance(open_sandbox(SandboxSpec(kind="landlock"), SystemClock()), Missing):
        pytest.skip("this kernel has no Landlock that is new enough")
    home = Cli(tmp_path / "home", config=f'[sandbox]\nkind = "{kind}"\n')
    said = home.run("doctor", "--json", env={"PATH": environ.current()["PATH"]})
    (line,) = [each for each in json.loads(said.out)["checks"] if each["name"] == "sandbox"]
    assert line["verdict"] == "warning"
    assert line["evidence"].startswith("landlock")
    assert "weaker than bubblewrap" in line["evidence"]
    assert why in line["evidence"]
    assert "install bubblewrap" in line["cure"]
    assert "docs/security.md" in line["cure"]


def test_doctor_warns_of_a_limit_that_nothing_holds_and_says_who_holds_the_others(tmp_path: Path) -> None:
    home = Cli(tmp_path / "home", config="")
    lines = [
        each for each in json.loads(home.run("doctor", "--json").out)["checks"] if each["name"] == "limits"
    ]
    assert [each["verdict"] for each in lines] == ["go"]
    found = Cells.open("")
    is_held = found is not None and "cpu" in found.controllers
    told = Cli(tmp_path / "other", config="[sandbox]\ncpu_percent = 50\n").run("doctor", "--json")
    (line,) = [each for each in json.loads(told.out)["checks"] if each["name"] == "limits"]
    assert line["verdict"] == ("go" if is_held else "warning")
    assert is_held or "cpu_percent = 50" in line["evidence"]


@pytest.mark.parametrize("wanted", [SandboxSpec(), SandboxSpec(kind="landlock"), OPEN, ELSEWHERE])
def test_a_result_says_what_its_run_was_locked_up_in(host: Host, tmp_path: Path, wanted: SandboxSpec) -> None:
    expected = open_sandbox(wanted, SystemClock()).kind
    spec = host.spec(small_repo(tmp_path / "theirs"), sandbox=wanted)
    assert run_here(spec).sandbox == expected
    [told] = events_of(spec, "run.started")
    assert told["sandbox"] == expected


@pytest.mark.usefixtures("broken_bubblewrap")
def test_auto_that_became_a_weaker_kind_is_told_by_its_own_name(host: Host, tmp_path: Path) -> None:
    result = run_here(host.spec(small_repo(tmp_path / "theirs")))
    assert result.sandbox in {"landlock", "missing"}


@pytest.mark.parametrize("name", ["person", "linked"])
def test_a_compiler_of_the_persons_rustup_runs_and_their_keys_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """rustup looks below HOME, which is another inside; and a home has more than one name."""
    home = tmp_path / name
    (tmp_path / "linked").symlink_to("person")
    for folder in (".rustup", ".cargo/bin", ".local/lib", ".local/share/keyrings"):
        (tmp_path / "person" / folder).mkdir(parents=True)
    write_script(home / ".rustup/compiler", "echo compiled")
    write_script(home / ".cargo/bin/rustup", 'exec "${RUSTUP_HOME:-$HOME/.rustup}/compiler"')
    (home / ".cargo/bin/cargo").symlink_to("rustup")
    write_script(home / ".local/bin/tool", "")
    (home / ".local/share/keyrings/login").write_text("key")
    monkeypatch.setenv("HOME", str(home))
    inside = tmp_path / "inside"
    base = {"HOME": str(home), "PATH": f"{tmp_path}/linked/.local/bin:{home}/.cargo/bin:{os.defpath}"}
    look = f"cargo; cat {tmp_path}/*/.local/share/keyrings/login 2>/dev/null"
    locked_up(
        inside,
        ("sh", "-c", look),
        open_sandbox(SandboxSpec(), SystemClock()),
        env=environ.child_environment(base, home=inside),
    )
    assert inside.with_name("inside.log").read_text() == "compiled\n"
