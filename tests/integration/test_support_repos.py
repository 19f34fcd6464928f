"""The repository builders make what their docstrings promise."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import repo_contents, repo_layouts, repo_traps
from tests.support.gitcmd import git, git_bytes, git_environment, has_ref
from tests.support.projects import Project, node_project, python_project
from tests.support.repos import Repo, commit_files, fingerprint, make_repo, move_remote


def run_tests(project: Project, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": git_environment()["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(project.test_argv, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "make",
    [
        python_project,
        pytest.param(node_project, marks=pytest.mark.needs(binary="node", apt="nodejs")),
    ],
    ids=lambda make: str(make.__name__),
)
def test_a_project_is_red_before_its_fix_and_green_after(tmp_path: Path, make: Callable[[], Project]) -> None:
    repo = make_repo(tmp_path, project=make())
    red = run_tests(repo.project, repo.checkout)
    assert red.returncode == 1
    (repo.checkout / repo.project.broken_path).write_text(repo.project.fixed_file())
    green = run_tests(repo.project, repo.checkout)
    assert green.returncode == 0, green.stdout + green.stderr


def test_the_remote_and_the_checkout_agree_on_the_same_first_commit(tmp_path: Path) -> None:
    one = make_repo(tmp_path / "one")
    two = make_repo(tmp_path / "two")
    assert git(one.checkout, "rev-parse", "HEAD") == one.base_sha
    assert one.base_sha == two.base_sha
    assert git(one.checkout, "status", "--porcelain") == ""


def test_an_unborn_remote_has_no_ref_at_all(tmp_path: Path) -> None:
    repo = repo_layouts.unborn_repo(tmp_path)
    assert git(repo.remote, "for-each-ref") == ""
    assert repo.base_sha == ""


@pytest.mark.parametrize("base", repo_layouts.ODD_BASES)
def test_a_default_branch_may_have_a_slash_or_foreign_letters(tmp_path: Path, base: str) -> None:
    repo = make_repo(tmp_path, base=base)
    assert git(repo.checkout, "symbolic-ref", "--short", "HEAD") == base
    assert f"ref: refs/heads/{base}" in git(repo.checkout, "ls-remote", "--symref", "origin")


def test_a_checkout_can_be_dirty_detached_and_ahead(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    before = fingerprint(repo.checkout)
    unpushed = repo_layouts.local_commit(repo)
    assert repo_layouts.detach_checkout(repo) == unpushed
    repo_layouts.dirty_checkout(repo)
    kinds = {line[:2] for line in git(repo.checkout, "status", "--porcelain").splitlines()}
    assert kinds == {"A ", " M", " D", "??"}
    after = fingerprint(repo.checkout)
    assert {key for key in before if before[key] != after[key]} == {
        "HEAD",
        "refs",
        "worktrees",
        "index",
        "files",
    }


def test_local_origin_head_can_name_another_branch_than_the_remote(tmp_path: Path) -> None:
    repo = repo_layouts.stale_origin_head(tmp_path)
    local = git(repo.checkout, "symbolic-ref", "refs/remotes/origin/HEAD")
    assert local == "refs/remotes/origin/main"
    assert "ref: refs/heads/develop" in git(repo.checkout, "ls-remote", "--symref", "origin")
    orphan = git(repo.remote, "rev-list", "--count", "main")
    assert orphan == "1"


def test_branches_that_differ_in_case_stand_in_packed_refs(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    repo_layouts.case_branches(repo)
    repo_layouts.blocking_branch(repo)
    names = git(repo.remote, "for-each-ref", "--format=%(refname:short)").splitlines()
    assert names == ["AAA-810", "aaa-810", "autopilot", "main"]


def linked(repo: Repo) -> Repo:
    return repo_layouts.linked_worktree(repo, repo.checkout.parent / "side")


def through_link(repo: Repo) -> Repo:
    return repo_layouts.symlinked_repo(repo, repo.checkout.parent / "links")


def shallow(repo: Repo) -> Repo:
    return repo_layouts.shallow_clone(repo, repo.checkout.parent / "shallow")


@pytest.mark.parametrize("change", [linked, through_link, shallow], ids=lambda f: f.__name__)
def test_every_layout_is_a_working_checkout(tmp_path: Path, change: Callable[[Repo], Repo]) -> None:
    repo = change(make_repo(tmp_path))
    assert git(repo.checkout, "rev-parse", "HEAD") == repo.base_sha
    assert git(repo.checkout, "status", "--porcelain") == ""


def test_a_bare_clone_can_keep_its_branches_in_worktrees(tmp_path: Path) -> None:
    repo = repo_layouts.bare_with_worktrees(tmp_path)
    assert (repo.checkout / ".git").is_file()
    common = git(repo.checkout, "rev-parse", "--path-format=absolute", "--git-common-dir")
    assert common.endswith("/home/.bare")
    assert git(repo.checkout.parent, "rev-parse", "--is-bare-repository") == "true"


def test_a_sparse_checkout_leaves_the_tests_out(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    repo_layouts.sparse_checkout(repo)
    assert not (repo.checkout / "tests").exists()
    assert git(repo.checkout, "status", "--porcelain") == ""


def test_a_remote_can_vanish_and_its_head_can_dangle(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    repo_layouts.dangling_remote_head(repo)
    assert "ref: " not in git(repo.checkout, "ls-remote", "--symref", "origin")
    repo_layouts.remote_unplugged(repo)
    with pytest.raises(AssertionError, match="does not"):
        git(repo.checkout, "fetch", "origin")


def test_odd_file_names_are_all_tracked_and_checked_out(tmp_path: Path) -> None:
    repo = repo_contents.odd_names_repo(tmp_path, not_utf8=True)
    tracked = git_bytes(repo.checkout, "ls-files", "-z").decode(errors="surrogateescape")
    names = repo_contents.allowed_names(not_utf8=True)
    assert set(names) <= set(tracked.split("\0"))
    assert all((repo.checkout / name).is_file() for name in names)


def test_odd_file_names_can_be_written_as_untracked_files(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    names = repo_contents.write_odd_names(repo.checkout)
    others = git_bytes(repo.checkout, "ls-files", "-z", "--others").decode().split("\0")
    assert set(names) <= set(others)


def test_a_required_smudge_filter_fails_on_its_third_file(tmp_path: Path) -> None:
    repo = repo_contents.smudge_repo(tmp_path)
    config = repo_contents.failing_smudge_config(tmp_path)
    git(repo.remote, "config", "include.path", str(config))
    with pytest.raises(AssertionError, match="smudge filter trap failed"):
        git(repo.remote, "worktree", "add", "-q", str(tmp_path / "cut"), repo.base)


def test_a_missing_lfs_program_stops_a_checkout(tmp_path: Path) -> None:
    repo = repo_contents.lfs_repo(tmp_path)
    config = repo_contents.lfs_config(tmp_path / "lfs.gitconfig")
    git(repo.remote, "config", "include.path", str(config))
    cut = tmp_path / "cut"
    env = {"PATH": str(tmp_path)}
    with pytest.raises(AssertionError, match="git-lfs"):
        git(repo.remote, "worktree", "add", "-q", str(cut), repo.base, extra_env=env)


def test_paths_that_differ_in_case_are_both_in_the_tree(tmp_path: Path) -> None:
    repo = repo_contents.case_pair_repo(tmp_path)
    names = set(git(repo.remote, "ls-tree", "-r", "--name-only", repo.base).splitlines())
    assert {"AGENTS.md", "Agents.md", "docs/guide.md", "Docs/guide.md"} <= names
    dirty = git(repo.checkout, "status", "--porcelain") != ""
    assert dirty == repo_contents.is_case_folding(tmp_path)


def test_links_and_gitlinks_keep_the_rest_of_the_tree(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    repo_contents.add_symlink(repo, "out", "../../etc/passwd")
    repo_contents.add_gitlink(repo, "vendored")
    rows = git(repo.remote, "ls-tree", repo.base).splitlines()
    assert {row.split()[0] for row in rows} == {"040000", "100644", "120000", "160000"}


def test_a_hook_trap_notes_that_it_ran(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    trap = repo_traps.set_hooks(repo.checkout, tmp_path / "mark")
    git(repo.checkout, "commit", "-q", "--allow-empty", "-m", "shielded")
    assert trap.sprung() == ()
    hooks = {"GIT_CONFIG_COUNT": "0"}
    with pytest.raises(AssertionError):
        git(repo.checkout, "commit", "-q", "--allow-empty", "-m", "bare", extra_env=hooks)
    assert trap.sprung()[0] == "pre-commit"


def test_a_signing_trap_notes_that_it_ran(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    trap = repo_traps.set_signing(repo.checkout, tmp_path / "mark", then=repo_traps.FAIL)
    with pytest.raises(AssertionError, match="gpg failed to sign"):
        git(
            repo.checkout,
            "commit",
            "--allow-empty",
            "-m",
            "signed",
            extra_env={"GIT_CONFIG_COUNT": "0"},
        )
    assert trap.sprung() == ("gpg",)


def test_tracked_hooks_and_config_commands_are_traps_as_well(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    config = repo_traps.set_config_commands(repo.checkout, tmp_path / "config-mark")
    git(repo.checkout, "status", extra_env={"GIT_CONFIG_COUNT": "0"})
    assert "core.fsmonitor" in config.sprung()
    hooks = repo_traps.set_tracked_hooks(repo.checkout, tmp_path / "hooks-mark")
    with pytest.raises(AssertionError):
        git(repo.checkout, "commit", "--allow-empty", "-m", "x", extra_env={"GIT_CONFIG_COUNT": "0"})
    assert "pre-commit" in hooks.sprung()


def test_a_left_over_lock_stops_git_and_looks_old(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    lock = repo_traps.leave_lock(repo.checkout / ".git" / "index.lock")
    with pytest.raises(AssertionError, match=r"index\.lock"):
        git(repo.checkout, "commit", "--allow-empty", "-m", "x")
    assert lock.stat().st_size == 0


def test_a_broken_remote_ref_makes_its_fetch_fail(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    move_remote(repo, commits=1)
    repo_traps.break_remote_ref(repo.checkout, repo.base)
    with pytest.raises(AssertionError, match="bad object"):
        git(repo.checkout, "fetch", "origin")


def test_other_people_can_move_the_remote_on(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    tip = move_remote(repo, commits=5)
    assert git(repo.remote, "rev-list", "--count", f"{repo.base_sha}..{tip}") == "5"
    commit_files(repo.remote, "feature/x", {"x": "y"}, parentless=True)
    assert has_ref(repo.remote, "refs/heads/feature/x")
