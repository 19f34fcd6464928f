"""A child in a unit of its own: only under the installed service, and only where its manager answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.launchd import scope
from autopilot.launchd.service import MARK
from tests.support.repo_traps import write_script

ARGV = ("/usr/bin/python3", "-P", "-m", "autopilot.runner")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A child's environment in which systemd-run is found."""
    write_script(tmp_path / "bin" / "systemd-run", "exit 0")
    return {"PATH": str(tmp_path / "bin")}


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Path]:
    """A runtime folder with a manager that listens."""
    folder = tmp_path / "r"
    (folder / "systemd").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as manager:
        manager.bind(str(folder / "systemd" / "private"))
        manager.listen()
        yield folder


def ours(runtime: Path, mark: str = "systemd") -> dict[str, str]:
    return {MARK: mark, "XDG_RUNTIME_DIR": str(runtime)}


def test_a_run_starts_in_a_scope_and_does_not_learn_where_the_manager_is(
    env: dict[str, str], runtime: Path, tmp_path: Path
) -> None:
    argv, given = scope.apart(ARGV, env, key="T-1-a1", ours=ours(runtime))
    assert argv[0] == str(tmp_path / "bin" / "systemd-run")
    assert {"--user", "--scope", "--collect", "--property=KillMode=mixed"} <= set(argv)
    assert argv[argv.index("--") :] == ("--", "env", "-u", "XDG_RUNTIME_DIR", *ARGV)
    assert given == {**env, "XDG_RUNTIME_DIR": str(runtime)}


def test_a_units_group_is_handed_to_the_child_and_bounded_further_out(
    env: dict[str, str], runtime: Path
) -> None:
    most = scope.Most(memory_bytes=1 << 30, threads=700)
    argv, _ = scope.apart(ARGV, env, key="T-1-a1", ours=ours(runtime), most=most)
    wanted = {f"--property={each}" for each in ("MemoryMax=1073741824", "MemorySwapMax=0", "TasksMax=700")}
    assert {"--property=Delegate=yes", *wanted} <= set(argv)
    plain, _ = scope.apart(ARGV, env, key="T-1-a1", ours=ours(runtime))
    assert "--property=Delegate=yes" in plain
    assert not any(word.startswith(("--property=Memory", "--property=Tasks")) for word in plain)


def test_a_child_that_may_know_the_manager_goes_on_knowing_it(env: dict[str, str], runtime: Path) -> None:
    argv, _ = scope.apart(ARGV, {**env, "XDG_RUNTIME_DIR": str(runtime)}, key="P-1", ours=ours(runtime))
    assert argv[argv.index("--") :] == ("--", *ARGV)


def test_no_two_scopes_have_one_name(env: dict[str, str], runtime: Path) -> None:
    names = [scope.apart(ARGV, env, key="P-1", ours=ours(runtime))[0] for _ in range(2)]
    assert len({word for argv in names for word in argv if word.startswith("--unit=")}) == 2


def test_in_a_terminal_and_under_launchd_a_child_starts_as_it_is(env: dict[str, str], runtime: Path) -> None:
    for known in ({}, ours(runtime, "launchd")):
        assert scope.apart(ARGV, env, key="T-1-a1", ours=known) == (ARGV, env)


def test_where_the_manager_does_not_answer_or_the_program_is_missing_it_starts_as_it_is(
    env: dict[str, str], runtime: Path, tmp_path: Path
) -> None:
    assert scope.apart(ARGV, env, key="T-1-a1", ours=ours(tmp_path / "nowhere")) == (ARGV, env)
    bare = {"PATH": str(tmp_path)}
    assert scope.apart(ARGV, bare, key="T-1-a1", ours=ours(runtime)) == (ARGV, bare)
