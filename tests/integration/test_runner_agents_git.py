"""What agents do to their repository, and what the commit makes of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.runner.commit import AGENT_REFS, keep_agents_commits
from autopilot.runner.failure import RunFailure
from autopilot.runner.sparse import absent_by_sparse_checkout
from autopilot.runner.tripwire import fingerprint
from autopilot.runner.worktree import check_place
from tests.support import git_agents
from tests.support.desks import Desk, make_desk
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, make_repo

ODD_NAMES = (
    "ä.txt",
    'a"b.txt',
    "tab\tname",
    "new\nline.txt",
    "x -> y.txt",
    " lead",
    "trail ",
    "-rf",
    "*?[x]",
    "世界",
)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


@pytest.fixture
def desk(tmp_path: Path, repo: Repo) -> Desk:
    return make_desk(tmp_path, repo)


def mend(desk: Desk) -> None:
    desk.write({desk.repo.project.broken_path: desk.repo.project.fixed_file()})


@pytest.mark.field_report("AGT-043")
def test_commits_on_a_detached_head_are_in_the_commit_and_kept_by_name(desk: Desk, tmp_path: Path) -> None:
    agent = git_agents.detaches_and_commits_twice(tmp_path / "agent", desk.repo.project)
    desk.play(agent)
    assert git(desk.workspace.repository, "rev-parse", desk.host.spec(desk.repo).branch) == desk.repo.base_sha
    changed = desk.changed()
    assert changed == {"first.txt": "added", "bill/split.py": "modified"}
    kept = keep_agents_commits(desk.judge)
    assert kept.shas == (agent.notes()[-1],)
    assert kept.notes == ()
    assert (
        git(desk.judge.place, "log", "--format=%H", f"{AGENT_REFS}1", f"^{desk.repo.base_sha}").split()
        == agent.notes()[::-1]
    )
    body = git(desk.judge.place, "log", "-1", "--format=%B", "autopilot/t-1-x")
    assert "Robot" not in body


def test_commits_on_branches_tags_and_the_own_branch_are_all_kept(desk: Desk) -> None:
    shas = [commit_files(desk.workspace.repository, name, {"f": name}) for name in ("one", "two")]
    git(desk.workspace.repository, "tag", "-a", "-m", "note", "three", shas[0])
    git(desk.workspace.repository, "update-ref", "refs/anything/else", shas[1])
    desk.judge.renew()
    kept = keep_agents_commits(desk.judge)
    assert set(shas) <= set(kept.shas)
    assert kept.notes == ()


def test_an_agents_repository_that_is_destroyed_costs_a_note_not_the_work(desk: Desk) -> None:
    mend(desk)
    shutil.rmtree(desk.workspace.repository)
    assert set(desk.changed()) == {"bill/split.py"}
    kept = keep_agents_commits(desk.judge)
    assert kept.shas == ()
    assert "cannot be read" in kept.notes[0]


def test_nothing_that_the_agent_planted_runs_and_a_planted_filter_changes_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    agent = git_agents.plants_commands(tmp_path / "agent", desk.repo.project)
    desk.play(agent)
    noted = agent.notes()
    assert set(desk.changed()) == {"bill/split.py", ".gitattributes"}
    keep_agents_commits(desk.judge)
    assert agent.notes() == noted
    assert (
        git(desk.judge.place, "show", "autopilot/t-1-x:bill/split.py")
        == desk.repo.project.fixed_file().strip()
    )


@pytest.mark.field_report("AGT-032")
@pytest.mark.parametrize("has_commit", [True, False])
def test_a_repository_inside_the_worktree_is_refused_by_name(
    desk: Desk, tmp_path: Path, has_commit: bool
) -> None:
    if has_commit:
        desk.play(git_agents.nests_repository(tmp_path / "agent"))
    else:
        git(desk.tree, "init", "-q", "vendored")
        desk.write({"vendored/code.py": "x = 1\n"})
    taken = desk.snapshot()
    assert taken.tree == ""
    assert "repository of its own" in taken.problems[0]
    assert "vendored/" in taken.problems[0]


def test_a_submodule_of_the_base_stays_as_it_is_and_nothing_of_its_runs(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "theirs")
    inner = make_repo(tmp_path / "inner")
    git(repo.checkout, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.url, "vendor lib")
    git(repo.checkout, "commit", "-q", "-m", "Add a submodule")
    git(repo.checkout, "push", "-q", "origin", "main")
    sha = git(repo.checkout, "rev-parse", "HEAD")
    desk = make_desk(tmp_path, Repo(repo.remote, repo.checkout, "main", sha, repo.project))
    shutil.rmtree(desk.tree / "vendor lib", ignore_errors=True)
    git(desk.tree, "clone", "-q", inner.url, "vendor lib")
    git(desk.tree / "vendor lib", "config", "core.fsmonitor", f"touch {tmp_path}/pwned; false")
    commit_files(desk.tree / "vendor lib", "main", {"x": "y"})
    mend(desk)
    taken = desk.snapshot()
    assert taken.notes == ("submodules are left as they are in the base",)
    assert set(desk.changed()) == {"bill/split.py"}
    assert not (tmp_path / "pwned").exists()


@pytest.mark.field_report("GIT-043")
def test_files_that_a_sparse_checkout_hides_are_no_deletions(desk: Desk) -> None:
    git(desk.tree, "sparse-checkout", "set", "--cone", "bill")
    assert not (desk.tree / "tests").exists()
    mend(desk)
    (desk.tree / "bill/__init__.py").unlink()
    desk.write({"tests/test_split.py": "# edited though excluded\n"})
    assert desk.changed() == {
        "bill/split.py": "modified",
        "bill/__init__.py": "deleted",
        "tests/test_split.py": "modified",
    }


def test_a_broken_index_of_the_agents_hides_nothing(desk: Desk) -> None:
    git(desk.tree, "sparse-checkout", "set", "--cone", "bill")
    (desk.workspace.admin / "index").write_bytes(b"DIRC garbage")
    desk.judge.renew()
    assert absent_by_sparse_checkout(desk.judge) == []


def test_a_head_that_names_nothing_costs_a_note_not_the_work(desk: Desk) -> None:
    mend(desk)
    (desk.workspace.admin / "HEAD").write_text("f" * 40 + "\n")
    assert set(desk.changed()) == {"bill/split.py"}
    kept = keep_agents_commits(desk.judge)
    assert kept.shas == ()
    assert "could not be kept" in kept.notes[0]
    (desk.workspace.admin / "HEAD").unlink()
    assert keep_agents_commits(desk.judge).notes == ()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def giant(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("put", [pipe, giant, link_to_itself, Path.mkdir])
@pytest.mark.parametrize("name", ["HEAD", "config", "packed-refs", "objects/info/alternates"])
def test_what_is_no_plain_file_in_the_agents_repository_is_named_and_holds_nobody_up(
    desk: Desk, name: str, put: Callable[[Path], None]
) -> None:
    mend(desk)
    (desk.workspace.repository / name).unlink(missing_ok=True)
    put(desk.workspace.repository / name)
    kept = keep_agents_commits(desk.judge)
    assert kept.shas == ()
    assert [note for note in kept.notes if name in note]
    assert fingerprint(desk.workspace)
    assert set(desk.changed()) == {desk.repo.project.broken_path}


@pytest.mark.parametrize("put", [pipe, giant, link_to_itself, Path.mkdir])
@pytest.mark.parametrize("name", ["HEAD", "index", "info/sparse-checkout"])
def test_what_is_no_plain_file_in_the_worktrees_own_folder_holds_nobody_up(
    desk: Desk, name: str, put: Callable[[Path], None]
) -> None:
    mend(desk)
    admin = desk.workspace.admin
    (admin / "info").mkdir(exist_ok=True)
    (admin / "info" / "sparse-checkout").write_text("/*\n")
    (admin / name).unlink(missing_ok=True)
    put(admin / name)
    assert keep_agents_commits(desk.judge).shas == ()
    assert absent_by_sparse_checkout(desk.judge) == []
    assert set(desk.changed()) == {desk.repo.project.broken_path}


@pytest.mark.parametrize("put", [pipe, giant, link_to_itself, Path.mkdir])
def test_what_is_no_plain_file_in_place_of_the_link_is_no_worktree(
    desk: Desk, put: Callable[[Path], None]
) -> None:
    (desk.tree / ".git").unlink()
    put(desk.tree / ".git")
    with pytest.raises(RunFailure, match="worktree-misplaced"):
        check_place(desk.workspace)
    assert fingerprint(desk.workspace)
