"""Private repository and worktree, on real repositories of every shape."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autopilot.runner.failure import RunFailure
from autopilot.runner.worktree import TRASH, check_place, move_to_trash
from autopilot.schemas.run import Outcome
from tests.support import repo_layouts, repo_traps
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, fingerprint, make_repo
from tests.support.runs import Host


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


@pytest.mark.covers("A02", "A13", "O07")
def test_a_worktree_shows_the_base_on_a_fresh_branch_that_tracks_nothing(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    workspace = host.cut(spec)
    assert (workspace.worktree / repo.project.broken_path).read_text() == repo.project.files[
        repo.project.broken_path
    ]
    assert git(workspace.worktree, "rev-parse", "HEAD") == repo.base_sha
    assert git(workspace.worktree, "symbolic-ref", "HEAD") == f"refs/heads/{spec.branch}"
    assert git(workspace.worktree, "rev-parse", "origin/main") == repo.base_sha
    assert git(workspace.worktree, "status", "--porcelain") == ""
    assert "branch" not in (workspace.repository / "config").read_text()
    assert "remote" not in (workspace.repository / "config").read_text()


def test_a_run_borrows_the_mirrors_objects_and_copies_none(host: Host, repo: Repo) -> None:
    workspace = host.cut(host.spec(repo))
    objects = workspace.repository / "objects"
    assert not [file for file in objects.rglob("*") if file.is_file() and file.parent.name != "info"]


@pytest.mark.field_report("GIT-031")
def test_without_a_worktree_there_is_no_run_and_no_other_folder(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    spec.worktree.parent.parent.mkdir(parents=True, exist_ok=True)
    spec.worktree.parent.write_text("a file where the folder should be")
    before = fingerprint(repo.checkout)
    with pytest.raises(RunFailure) as caught:
        host.cut(spec)
    assert (caught.value.outcome, caught.value.code) == (Outcome.INFRASTRUCTURE, "worktree-failed")
    assert fingerprint(repo.checkout) == before


@pytest.mark.field_report("GIT-001")
def test_eight_runs_at_once_on_one_repository_all_get_their_worktree(host: Host, repo: Repo) -> None:
    (repo.checkout / ".git" / "config.lock").touch()
    with ThreadPoolExecutor(8) as pool:
        for turn in range(3):
            specs = [
                host.spec(repo, attempt=1 + turn * 8 + number).model_copy(
                    update={"worktree": host.state / "worktrees" / f"T-{turn}-{number}"}
                )
                for number in range(8)
            ]
            for workspace in pool.map(host.cut, specs):
                assert git(workspace.worktree, "rev-parse", "HEAD") == repo.base_sha
    assert (repo.checkout / ".git" / "config.lock").exists()


@pytest.mark.covers("S07")
@pytest.mark.field_report("GIT-013")
def test_a_retry_after_the_worktree_was_deleted_by_hand_gets_a_new_one(host: Host, repo: Repo) -> None:
    first = host.cut(host.spec(repo))
    git(repo.checkout, "status")
    for file in sorted(first.worktree.rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    first.worktree.rmdir()
    second = host.cut(host.spec(repo, attempt=2))
    assert second.worktree == first.worktree
    assert git(second.worktree, "rev-parse", "--show-toplevel") == str(second.worktree.resolve())


@pytest.mark.field_report("GIT-013")
def test_what_an_earlier_attempt_left_is_moved_aside_with_all_its_work(host: Host, repo: Repo) -> None:
    first = host.cut(host.spec(repo))
    (first.worktree / "work.txt").write_text("half done")
    second = host.cut(host.spec(repo, attempt=2))
    [kept] = (second.worktree.parent / TRASH).iterdir()
    assert (kept / "work.txt").read_text() == "half done"
    assert not (second.worktree / "work.txt").exists()


def test_whatever_stands_in_the_place_is_moved_aside_and_never_followed(host: Host, tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "T-1", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    makers: list[Callable[[], None]] = [place.mkdir, place.touch, lambda: place.symlink_to(elsewhere)]
    for number, make in enumerate(makers, start=1):
        make()
        moved = move_to_trash(place, "T-1-a2-00000002")
        assert moved is not None
        assert not place.is_symlink()
        assert not place.exists()
        assert len(list((tmp_path / TRASH).iterdir())) == number
    assert (elsewhere / "precious").exists()
    assert move_to_trash(place, "T-1-a2-00000002") is None


@pytest.mark.field_report("GIT-013")
def test_a_folder_that_is_no_longer_the_worktree_is_noticed(host: Host, repo: Repo, tmp_path: Path) -> None:
    workspace = host.cut(host.spec(repo))
    check_place(workspace)
    link = workspace.worktree / ".git"
    link.write_text(f"gitdir: {repo.checkout / '.git'}\n")
    with pytest.raises(RunFailure, match="not linked"):
        check_place(workspace)
    workspace.worktree.rename(tmp_path / "moved")
    with pytest.raises(RunFailure, match="not there"):
        check_place(workspace)
    workspace.worktree.symlink_to(tmp_path / "moved")
    with pytest.raises(RunFailure, match="not there") as caught:
        check_place(workspace)
    assert caught.value.outcome is Outcome.INFRASTRUCTURE


@pytest.mark.field_report("GIT-016", "GIT-017")
@pytest.mark.parametrize("then", [repo_traps.FAIL, repo_traps.HANG, repo_traps.SWITCH])
def test_no_hook_and_no_signing_of_the_users_is_ever_run(
    host: Host, repo: Repo, tmp_path: Path, then: str
) -> None:
    marks = [
        repo_traps.set_hooks(repo.checkout, tmp_path / "hooks", then=then),
        repo_traps.set_hooks(repo.remote, tmp_path / "remote-hooks", then=then),
        repo_traps.set_signing(repo.checkout, tmp_path / "gpg", then=then),
        repo_traps.set_config_commands(repo.remote, tmp_path / "commands"),
        repo_traps.set_config_commands(repo.checkout, tmp_path / "own-commands"),
    ]
    before = fingerprint(repo.checkout)
    sprung = [mark.sprung() for mark in marks]
    spec, local = host.spec(repo), host.spec(repo, attempt=2)
    local = local.model_copy(update={"repo": local.repo.model_copy(update={"url": str(repo.checkout)})})
    host.cut(spec)
    host.cut(local)
    assert [mark.sprung() for mark in marks] == sprung
    assert fingerprint(repo.checkout) == before


@pytest.fixture(
    params=["plain", "dirty", "detached", "sparse", "linked", "submodule", "bare-with-worktrees", "symlinked"]
)
def checkout(request: pytest.FixtureRequest, repo: Repo, tmp_path: Path) -> Repo:
    match request.param:
        case "dirty":
            repo_layouts.dirty_checkout(repo)
        case "detached":
            repo_layouts.detach_checkout(repo)
        case "sparse":
            repo_layouts.sparse_checkout(repo)
        case "linked":
            repo = repo_layouts.linked_worktree(repo, tmp_path / "linked")
        case "submodule":
            repo = repo_layouts.submodule_checkout(repo, tmp_path / "outer")
        case "bare-with-worktrees":
            repo = repo_layouts.bare_with_worktrees(tmp_path / "layout")
        case "symlinked":
            repo = repo_layouts.symlinked_repo(repo, tmp_path / "links")
    return repo


@pytest.mark.field_report("GIT-040", "GIT-043")
def test_the_users_checkout_may_look_as_it_will_and_stays_untouched(host: Host, checkout: Repo) -> None:
    before = fingerprint(checkout.checkout)
    spec = host.spec(checkout)
    spec = spec.model_copy(update={"repo": spec.repo.model_copy(update={"url": str(checkout.checkout)})})
    workspace = host.cut(spec)
    assert git(workspace.worktree, "status", "--porcelain") == ""
    assert (workspace.worktree / checkout.project.test_paths[0]).exists()
    assert fingerprint(checkout.checkout) == before
    assert "worktreeConfig" not in (workspace.repository / "config").read_text()


def test_a_repository_of_sha256_names_works_too(host: Host, tmp_path: Path) -> None:
    remote = tmp_path / "remote256.git"
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", str(remote))
    sha = commit_files(remote, "main", {"a.txt": "a\n"})
    git(remote, "symbolic-ref", "HEAD", "refs/heads/main")
    repo = Repo(remote, remote, "main", sha, make_repo(tmp_path / "other").project)
    assert len(sha) == 64
    assert git(host.cut(host.spec(repo)).worktree, "rev-parse", "HEAD") == sha


@pytest.mark.parametrize("place", ["with space", "quote'\"s", "ünï 世界", "-dash"])
def test_repository_and_state_may_lie_in_folders_of_any_name(tmp_path: Path, place: str) -> None:
    repo = make_repo(tmp_path / place / "theirs")
    host = Host(tmp_path / place / "state")
    assert git(host.cut(host.spec(repo)).worktree, "rev-parse", "HEAD") == repo.base_sha
