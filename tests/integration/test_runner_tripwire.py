"""What was changed about how a repository behaves is noticed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autopilot.config.removal import remove_tree
from autopilot.runner.lookover import obstacles
from autopilot.runner.submodules import unsaved_repositories
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
_ANOTHER = "git -c user.name=x -c user.email=x@x.example commit-tree -m x HEAD^{tree}"
REPLACED = f"git replace HEAD $({_ANOTHER})"


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


@pytest.mark.parametrize(
    ("line", "named"),
    {
        "git config -f $repo/config x.y z": "repo.git/config",
        "git config -f $repo/config.worktree x.y z": "repo.git/config.worktree",
        "git config -f $admin/config.worktree x.y z": "repo.git/worktrees/T-1/config.worktree",
        "mkdir -p $repo/hooks && touch $repo/hooks/pre-push": "repo.git/hooks/pre-push",
        "mkdir -p $admin/hooks && touch $admin/hooks/pre-push": "repo.git/worktrees/T-1/hooks/pre-push",
        "mkdir -p $repo/info && echo '* -diff' > $repo/info/attributes": "repo.git/info/attributes",
        "mkdir -p $repo/info && echo x > $repo/info/exclude": "repo.git/info/exclude",
        "mkdir -p $repo/info && echo x > $repo/info/grafts": "repo.git/info/grafts",
        "mkdir -p $repo/info && echo x > $repo/info/refs": "repo.git/info/refs",
        "mkdir -p $admin/info && echo '* -diff' > $admin/info/attributes": (
            "repo.git/worktrees/T-1/info/attributes"
        ),
        "mkdir -p $repo/objects/info && echo /x > $repo/objects/info/alternates": (
            "repo.git/objects/info/alternates"
        ),
        "mkdir -p $repo/objects/info && echo x > $repo/objects/info/http-alternates": (
            "repo.git/objects/info/http-alternates"
        ),
        "git rev-parse HEAD > $repo/shallow": "repo.git/shallow",
        REPLACED: "repo.git/refs/replace/$head",
        f"{REPLACED}; git pack-refs --all": "repo.git/packed-refs",
        "echo ../elsewhere > $admin/commondir": "repo.git/worktrees/T-1/commondir",
        "echo /elsewhere > $admin/gitdir": "repo.git/worktrees/T-1/gitdir",
        "echo 'gitdir: /elsewhere' > .git": "T-1/.git",
        "rm .git && git init -q .": "T-1/.git/config",
        "git symbolic-ref --no-recurse -m x HEAD refs/heads/x 2>&1; echo ref: refs/heads/x > $repo/HEAD": (
            "repo.git/HEAD"
        ),
        "mkdir $repo/rr-cache": "repo.git/rr-cache",
        "mkdir $repo/remotes && echo 'URL: /x' > $repo/remotes/origin": "repo.git/remotes",
        "mkdir $repo/branches && echo /x > $repo/branches/origin": "repo.git/branches",
        "git worktree add -q --detach $tmp/more": "repo.git/worktrees/more/gitdir",
        "mv $repo/objects $tmp/o && ln -s $tmp/o $repo/objects": "repo.git/objects",
        "mv $repo/objects/pack $tmp/p; ln -s $tmp/p $repo/objects/pack": "repo.git/objects/pack",
        "mv $repo/refs/heads $tmp/h && ln -s $tmp/h $repo/refs/heads": "repo.git/refs/heads",
        "mkdir -p $repo/hooks && ln -s /bin/true $repo/hooks/post-commit": "repo.git/hooks/post-commit",
    }.items(),
)
def test_each_way_to_change_how_git_behaves_is_named(
    desk: Desk, tmp_path: Path, line: str, named: str
) -> None:
    before = fingerprint(desk.workspace)
    head = git(desk.tree, "rev-parse", "HEAD").strip()
    variables = {"repo": desk.workspace.repository, "admin": desk.workspace.admin, "tmp": tmp_path}
    env = {**os.environ, **{name: str(place) for name, place in variables.items()}}
    subprocess.run(["bash", "-c", line], cwd=desk.tree, env=env, check=True)
    assert named.replace("$head", head) in differences(before, fingerprint(desk.workspace))


def test_a_hook_that_may_be_run_now_is_named_though_it_says_what_it_said(desk: Desk) -> None:
    hook = desk.workspace.repository / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("exit 1\n")
    before = fingerprint(desk.workspace)
    hook.chmod(0o755)
    assert differences(before, fingerprint(desk.workspace)) == ("repo.git/hooks/pre-commit",)


@pytest.mark.parametrize(
    "line",
    [
        "git update-index --split-index && git add -A",
        "git update-index --index-version 4; git update-index --untracked-cache",
        "git sparse-checkout set --no-cone '/*' 2>/dev/null; git sparse-checkout list >/dev/null; true",
    ],
)
def test_an_agents_own_index_is_its_own_affair(desk: Desk, line: str) -> None:
    before = fingerprint(desk.workspace)
    env = {**os.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "x.y", "GIT_CONFIG_VALUE_0": "z"}
    subprocess.run(["bash", "-c", line], cwd=desk.tree, env=env, check=True)
    found = differences(before, fingerprint(desk.workspace))
    assert {name for name in found if "config" not in name} == set()


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


@contextmanager
def deep(folder: Path, depth: int = 1200) -> Iterator[None]:
    """Folders in folders for the length of a block, more than Python calls itself."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=handle)
        above, handle = handle, os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(above)
    Path(f"/proc/self/fd/{handle}/last").write_text("")
    os.close(handle)
    yield
    remove_tree(folder)


def test_folders_in_folders_without_end_are_looked_through_and_named(desk: Desk) -> None:
    before = fingerprint(desk.workspace)
    with deep(desk.workspace.admin / "hooks"):
        (named,) = differences(before, fingerprint(desk.workspace))
    assert named.endswith("/d/d/last")


def test_a_link_to_what_no_file_can_be_called_is_named(desk: Desk) -> None:
    before = fingerprint(desk.workspace)
    (desk.workspace.admin / "hooks").symlink_to("0" * 300)
    (desk.workspace.repository / "rr-cache").symlink_to("0" * 300)
    assert differences(before, fingerprint(desk.workspace)) == ("repo.git/worktrees/T-1/hooks",)


def test_folders_in_folders_of_a_repository_within_hold_nothing_up(desk: Desk) -> None:
    for name in ("HEAD", "config"):
        (desk.tree / "in/.git").mkdir(parents=True, exist_ok=True)
        (desk.tree / "in/.git" / name).write_text("x")
    with deep(desk.tree / "in/.git/refs"):
        assert obstacles(desk.tree) == ()
    with deep(desk.workspace.admin / "modules"):
        assert unsaved_repositories(desk.judge) == []
