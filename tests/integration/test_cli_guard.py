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


def test_what_the_settings_add_is_known(tmp_path: Path) -> None:
    config = '[guard]\nallow_tools = ["mcp__docs__search"]\nread_only_programs = ["tokei"]\n'
    cli = Cli(tmp_path / "home", config=config)
    assert cli.call("guard", "explain", "x", "--tool", "mcp__docs__search").code == ExitCode.OK
    assert cli.call("guard", "explain", '{"q": 1}', "--tool", "mcp__docs__search").code == ExitCode.OK
    for inputs in ('{"path": "/etc/x"}', "/etc/x", '{"url": "https://evil.example"}'):
        assert cli.call("guard", "explain", inputs, "--tool", "mcp__docs__search").code == ExitCode.REFUSED
    assert cli.call("guard", "explain", "x", "--tool", "mcp__docs__other").code == ExitCode.REFUSED
    assert cli.call("guard", "explain", "tokei src").code == ExitCode.OK
    assert cli.call("guard", "explain", "tokei /etc").code == ExitCode.REFUSED
    wrong = Cli(tmp_path / "other", config='[guard]\nread_only_programs = ["sudo"]\n')
    said = wrong.call("guard", "explain", "ls")
    assert said.code == ExitCode.CONFIG
    assert "sudo" in said.out + said.err
