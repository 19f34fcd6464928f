"""`autopilot guard explain`: the guard's answer, asked by a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "home", config='[network]\nstatic_hosts = ["docs.python.org"]\n')


@pytest.mark.covers("H14", "H22")
def test_a_refusal_says_what_is_accepted_and_runs_nothing(cli: Cli, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    said = cli.call("guard", "explain", "echo x > f; git push", "--worktree", str(tree))
    assert (said.code, said.out.splitlines()[0]) == (ExitCode.REFUSED, "refused (git-command)")
    assert "after the gates have passed" in said.out
    assert list(tree.iterdir()) == []


def test_an_allowed_command_says_what_it_writes(cli: Cli, tmp_path: Path) -> None:
    said = cli.call("guard", "explain", "echo x > f", "--worktree", str(tmp_path), "--json")
    assert said.code == ExitCode.OK
    assert said.json() == {
        "tool": "Bash",
        "command": "echo x > f",
        "allowed": True,
        "code": "allowed",
        "reason": "",
        "writes": [str(tmp_path / "f")],
    }


def test_the_configured_hosts_and_other_tools_are_known(cli: Cli) -> None:
    assert cli.call("guard", "explain", "curl https://docs.python.org/3/").code == ExitCode.OK
    assert (
        cli.call("guard", "explain", "https://docs.python.org/3/", "--tool", "WebFetch").code == ExitCode.OK
    )
    other = cli.call("guard", "explain", "https://evil.example/", "--tool", "WebFetch", "--json")
    assert (other.code, other.json()["code"]) == (ExitCode.REFUSED, "host")


@pytest.mark.covers("H12")
def test_what_the_run_wrote_can_be_told(cli: Cli) -> None:
    assert cli.call("guard", "explain", "./check.sh").code == ExitCode.OK
    assert cli.call("guard", "explain", "./check.sh", "--written", "check.sh").code == ExitCode.REFUSED
