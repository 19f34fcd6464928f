"""What an agent leaves in its folder holds nobody up, takes no memory, and is not called our fault."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.git import GitError
from autopilot.runner.bundles import UnsavedError
from autopilot.runner.failure import RunFailure, reading_the_agents
from autopilot.runner.lookover import obstacles
from autopilot.runner.owned import record_of
from autopilot.runner.salvage import Finding, salvage
from autopilot.schemas.run import AgentSpec, Outcome, RunResult
from tests.support.desks import Desk, make_desk
from tests.support.gitcmd import git
from tests.support.programs import start
from tests.support.repo_traps import write_script
from tests.support.repos import make_repo
from tests.support.runs import OPEN, Host, run_here
from tests.support.small_project import small_repo

MENDED = {"bill/split.py"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = make_desk(tmp_path, make_repo(tmp_path / "theirs"))
    # Long for a test, and far shorter than what a pipe waits for.
    patient = replace(desk.judge, git=replace(desk.host.git, timeout_s=30))
    desk.write({desk.repo.project.broken_path: desk.repo.project.fixed_file()})
    return replace(desk, judge=patient)


def put_pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def put_repository(path: Path, pipe: str) -> None:
    for name in ("objects", "refs/heads"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/x\n")
    (path / pipe).unlink(missing_ok=True)
    os.mkfifo(path / pipe)


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".gitmodules", "d/.gitignore", "n/.git"])
def test_a_pipe_where_git_reads_is_a_problem_with_its_name(desk: Desk, name: str) -> None:
    put_pipe(desk.tree / name)
    assert f"{name} is a pipe" in desk.snapshot().problems[0]


@pytest.mark.parametrize("pipe", ["HEAD", "config", "packed-refs", "commondir", "refs/heads/x"])
@pytest.mark.parametrize("is_linked", [True, False])
def test_a_pipe_in_a_repository_inside_is_a_problem_too(
    desk: Desk, tmp_path: Path, pipe: str, is_linked: bool
) -> None:
    place = tmp_path / "elsewhere" if is_linked else desk.tree / "n/.git"
    put_repository(place, pipe)
    desk.write({"n/x": "x"})
    if is_linked:
        (desk.tree / "n/.git").write_text(f"gitdir: {place}\n")
    assert desk.snapshot().problems == (f"n/.git is a repository with no plain file for {pipe}",)


def test_a_link_to_another_repository_is_a_problem_and_not_asked(desk: Desk) -> None:
    desk.write({"n/x": "x"})
    (desk.tree / "n/.git").symlink_to(desk.repo.checkout / ".git")
    assert desk.snapshot().problems == ("n/.git is a link: git would read another repository in its place",)


def test_pipes_sockets_and_links_of_other_names_are_none_of_gits_affairs(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_pipe(desk.tree / "d/pipe")
    monkeypatch.chdir(desk.tree)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("server.sock")
        (desk.tree / "d/.gitignore").symlink_to("/dev/zero")
        assert set(desk.changed()) == MENDED | {"d/.gitignore"}


def test_many_problems_are_told_a_few_at_a_time(desk: Desk) -> None:
    for number in range(20):
        put_pipe(desk.tree / f"d{number}/.gitignore")
    assert len(obstacles(desk.tree)) == 5


def test_a_file_that_is_a_hole_of_gigabytes_is_refused_by_its_size(desk: Desk) -> None:
    desk.write({".gitattributes": "* text ident\n"})
    with (desk.tree / "hole.txt").open("wb") as file:
        file.truncate(200 << 30)
    assert desk.snapshot().problems == ("larger than 128 MiB, so not to be committed: hole.txt",)
    spec = desk.host.spec(desk.repo)
    record = record_of(spec.run_dir)
    assert record is not None
    place = desk.host.state / "salvage" / "T-1"
    with pytest.raises(UnsavedError, match=r"hole\.txt"):
        salvage(desk.judge.git, Finding(record, desk.tree, spec.run_dir, spec.repo.mirror, place, "x"))


def test_a_large_file_that_is_ignored_is_nobodys_affair(desk: Desk) -> None:
    desk.write({".gitignore": "*.bin\n"})
    with (desk.tree / "model.bin").open("wb") as file:
        file.truncate(200 << 30)
    assert set(desk.changed()) == MENDED | {".gitignore"}


def test_what_the_base_holds_at_that_size_may_stay_so_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autopilot.runner.judge._LARGEST", 1 << 20)
    large = "x" * (2 << 20)
    desk = make_desk(tmp_path, make_repo(tmp_path / "theirs", extra_files={"a\nb.txt": large}))
    assert not desk.snapshot().is_changed
    desk.write({"a\nb.txt": large[:-1]})
    assert set(desk.changed()) == {"a\nb.txt"}
    desk.write({"a\nb.txt": f"{large}x"})
    assert "a\nb.txt" in desk.snapshot().problems[0]


def test_a_path_that_the_agent_invented_in_its_list_hides_nothing(desk: Desk) -> None:
    (desk.workspace.admin / "info").mkdir(exist_ok=True)
    (desk.workspace.admin / "info/sparse-checkout").write_text("/*\n")
    blob = git(desk.tree, "hash-object", "-w", "README.md")
    git(desk.tree, "update-index", "--add", "--cacheinfo", f"100644,{blob},ghost/file")
    git(desk.tree, "update-index", "--skip-worktree", "ghost/file")
    assert set(desk.changed()) == MENDED


def test_a_run_whose_agent_leaves_a_pipe_failed_by_its_own_doing(tmp_path: Path) -> None:
    host, repo = Host(tmp_path / "state"), small_repo(tmp_path / "theirs")
    script = write_script(tmp_path / "agent", "echo right > answer.txt; rm -f .gitignore; mkfifo .gitignore")
    agent = AgentSpec(name="agent", kind="command", argv=("sh", str(script)))
    ended = run_here(host.spec(repo, agent, sandbox=OPEN))
    assert (ended.outcome, ended.code) == (Outcome.AGENT_FAILED, "not-committable")
    assert ".gitignore is a pipe" in ended.message


@pytest.mark.parametrize(
    "error",
    [
        *(OSError(number, os.strerror(number)) for number in (errno.EACCES, errno.ELOOP, errno.ENXIO)),
        *(GitError(code, "x") for code in ("git-timeout", "git-killed", "git-memory", "git-failed")),
    ],
    ids=repr,
)
def test_what_goes_wrong_with_what_an_agent_left_is_the_agents(error: Exception) -> None:
    with pytest.raises(RunFailure, match="not-committable") as caught, reading_the_agents():
        raise error
    assert caught.value.outcome is Outcome.AGENT_FAILED


@pytest.mark.parametrize(
    "error",
    [
        *(OSError(number, os.strerror(number)) for number in (errno.ENOSPC, errno.EMFILE, errno.EIO)),
        *(GitError(code, "x") for code in ("git-disk-full", "git-missing", "git-stopped")),
    ],
    ids=repr,
)
def test_what_speaks_of_the_machine_itself_stays_the_machines(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, reading_the_agents():
        raise error
    assert caught.value is error


REPO = "$(git rev-parse --path-format=absolute --git-common-dir)"
SHUTTING = {
    "its worktree": "echo right > answer.txt; chmod 000 .",
    "a folder in it": "mkdir -p d/e; echo right > answer.txt; echo x > d/e/f; chmod 000 d/e; chmod 000 d",
    "its repository": (
        f"echo right > answer.txt; git hash-object -w answer.txt; cd {REPO}; chmod 0 objects/?? objects refs"
    ),
    "its own part of it": "A=$(git rev-parse --git-dir); echo right > answer.txt; chmod 000 $A",
    "its home, before another round": (
        "if [ -e again ]; then echo right > answer.txt; rm again; else : > again; chmod 000 $HOME $TMPDIR; fi"
    ),
}


def by_an_ordinary_user() -> tuple[str, ...]:
    """Root passes by every mode; without these two rights it is as anybody."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root without setpriv may read everything")
    less = "-dac_override,-dac_read_search"
    return ("setpriv", f"--bounding-set={less}", f"--inh-caps={less}", "--")


@pytest.mark.parametrize("what", SHUTTING)
def test_an_agent_that_shuts_us_out_of_its_folders_stops_nothing(tmp_path: Path, what: str) -> None:
    user = by_an_ordinary_user()
    host, repo = Host(tmp_path / "state"), small_repo(tmp_path / "theirs")
    script = write_script(tmp_path / "agent", SHUTTING[what])
    agent = AgentSpec(name="agent", kind="command", argv=("sh", str(script)))
    spec = host.spec(repo, agent, sandbox=OPEN)
    file = spec.run_dir / "spec.json"
    file.write_text(spec.model_dump_json())
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    runner = (*user, sys.executable, "-P", "-m", "autopilot.runner", "run", str(file))
    start(runner, tmp_path, env=env | {"PYTHONPATH": os.pathsep.join(sys.path)}, wall_s=120)
    result = RunResult.model_validate_json((spec.run_dir / "result.json").read_bytes())
    assert (result.outcome, result.message) == (Outcome.COMMITTED, result.message)
