"""What was changed about how a repository behaves is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.tripwire import UserConfig, differences, fingerprint, local_path
from tests.support import git_agents, repo_layouts
from tests.support.desks import Desk, make_desk
from tests.support.gitcmd import git
from tests.support.repos import Repo, make_repo

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


@pytest.mark.field_report("GIT-041")
def test_what_the_agent_did_to_its_repository_is_named(desk: Desk, tmp_path: Path) -> None:
    before = fingerprint(desk.workspace)
    assert differences(before, fingerprint(desk.workspace)) == ()
    desk.play(git_agents.plants_commands(tmp_path / "agent", desk.repo.project))
    (desk.workspace.repository / "objects/info/alternates").write_text("/elsewhere\n")
    (desk.tree / ".git").unlink()
    names = set(differences(before, fingerprint(desk.workspace)))
    wanted = {"repo.git/config", "repo.git/objects/info/alternates", "T-1/.git", "repo.git/hooks/pre-commit"}
    assert wanted <= names


def test_ordinary_work_with_git_trips_nothing(desk: Desk, tmp_path: Path) -> None:
    before = fingerprint(desk.workspace)
    desk.play(git_agents.commits_itself(tmp_path / "agent", desk.repo.project))
    desk.play(git_agents.detaches_and_commits_twice(tmp_path / "agent2", desk.repo.project))
    assert differences(before, fingerprint(desk.workspace)) == ()


@pytest.mark.field_report("GIT-041")
@pytest.mark.parametrize("layout", ["plain", "linked", "bare-with-worktrees"])
def test_a_flipped_core_bare_in_the_users_clone_is_put_back_and_told(
    desk: Desk, tmp_path: Path, layout: str
) -> None:
    repo = desk.repo
    if layout == "linked":
        repo = repo_layouts.linked_worktree(repo, tmp_path / "linked")
    if layout == "bare-with-worktrees":
        repo = repo_layouts.bare_with_worktrees(tmp_path / "layout")
    noted = UserConfig.note(desk.host.git, str(repo.checkout))
    assert noted is not None
    assert noted.mend(desk.host.git) == ()
    before = noted.path.read_bytes()
    flipped = b"false" if noted.bare == b"true" else b"true"
    git(repo.checkout, "config", "--file", str(noted.path), "core.bare", flipped.decode())
    told = noted.mend(desk.host.git)
    assert "core.bare" in told[1]
    assert noted.path.read_bytes() == before
    assert noted.mend(desk.host.git) == ()


@pytest.mark.field_report("GIT-041")
def test_another_change_in_the_users_clone_is_told_and_left(desk: Desk) -> None:
    noted = UserConfig.note(desk.host.git, desk.repo.url)
    assert noted is not None
    git(desk.repo.remote, "config", "user.name", "Somebody")
    assert len(noted.mend(desk.host.git)) == 1
    assert git(desk.repo.remote, "config", "user.name") == "Somebody"


def test_only_an_address_on_this_machine_has_a_clone_to_watch(desk: Desk, tmp_path: Path) -> None:
    assert local_path("/a b") == Path("/a b")
    assert local_path("file:///a%20b") == Path("/a b")
    assert local_path("https://host/a") is None
    assert local_path("git@host:a/b.git") is None
    assert UserConfig.note(desk.host.git, str(tmp_path / "none")) is None
    assert UserConfig.note(desk.host.git, str(tmp_path)) is None
