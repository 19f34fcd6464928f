"""Repositories of unusual shape: no commit, odd branch names, bare, sparse, linked.

Each builder makes a whole `Repo`, or changes one that `make_repo` made and says what
it changed. The names of the field reports they come from are in the docstrings.
"""

from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.support.gitcmd import git
from tests.support.projects import python_project
from tests.support.repos import Repo, clone, commit_files, init_bare, make_repo

ODD_BASES: Final = ("trunk/ünïcode", "release/2.x", "разработка", "Main")


def unborn_repo(root: Path) -> Repo:
    """A remote and a checkout without any commit; `base_sha` is empty (GIT-031)."""
    remote = init_bare(root / "remote.git")
    return Repo(remote, clone(remote, root / "checkout"), "main", "", python_project())


def detach_checkout(repo: Repo) -> str:
    """Detach HEAD of the person's checkout; returns the sha it stands on."""
    git(repo.checkout, "checkout", "-q", "--detach")
    return git(repo.checkout, "rev-parse", "HEAD")


def dirty_checkout(repo: Repo) -> None:
    """Leave a staged, an unstaged, a deleted and an untracked file in the checkout."""
    (repo.checkout / "staged.txt").write_text("staged\n")
    git(repo.checkout, "add", "staged.txt")
    (repo.checkout / "README.md").write_text("half an edit\n")
    (repo.checkout / ".gitignore").unlink()
    (repo.checkout / "notes.txt").write_text("not for others\n")


def local_commit(repo: Repo) -> str:
    """A commit on the checkout's base branch that was never pushed; returns its sha."""
    git(repo.checkout, "commit", "-q", "--allow-empty", "-m", "Not pushed")
    return git(repo.checkout, "rev-parse", "HEAD")


def stale_origin_head(root: Path) -> Repo:
    """Local origin/HEAD names an abandoned orphan `main`; the remote's is `develop` (GIT-006)."""
    repo = make_repo(root, base="develop")
    commit_files(
        repo.remote,
        "main",
        {"OLD.md": "the wrong application\n"},
        message="Abandoned",
        parentless=True,
    )
    git(repo.checkout, "fetch", "-q", "origin")
    git(repo.checkout, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    return repo


def dangling_remote_head(repo: Repo) -> None:
    """Make the remote's HEAD name a branch that does not exist."""
    git(repo.remote, "symbolic-ref", "HEAD", "refs/heads/gone")


def remote_unplugged(repo: Repo) -> None:
    """Move the remote away, so that every fetch and push fails at once."""
    repo.remote.rename(repo.remote.with_name("moved-away.git"))


def case_branches(repo: Repo) -> None:
    """Two remote branches that differ only in case, as packed refs (GIT-034)."""
    for branch in ("AAA-810", "aaa-810"):
        _pack_ref(repo, branch)


def blocking_branch(repo: Repo, name: str = "autopilot") -> None:
    """A remote branch whose name is the directory of the product's branches (GIT-035)."""
    git(repo.remote, "update-ref", f"refs/heads/{name}", repo.base_sha)


def _pack_ref(repo: Repo, branch: str) -> None:
    """Write straight to packed-refs: a loose ref would collide where case is folded."""
    packed = repo.remote / "packed-refs"
    header = "# pack-refs with: peeled fully-peeled sorted"
    lines = packed.read_text().splitlines()[1:] if packed.exists() else []
    lines.append(f"{repo.base_sha} refs/heads/{branch}")
    lines.sort(key=lambda line: line.partition(" ")[2])
    packed.write_text("\n".join((header, *lines)) + "\n")


def sparse_checkout(repo: Repo, *kept: str) -> None:
    """Cone-mode sparse checkout of the person's clone, without the tests (GIT-043)."""
    git(repo.checkout, "sparse-checkout", "set", "--cone", *(kept or ("bill",)))


def symlinked_repo(repo: Repo, link_root: Path) -> Repo:
    """The same repository under paths that lead through a symbolic link (GIT-040)."""
    link_root.mkdir(parents=True, exist_ok=True)
    linked = link_root / "linked"
    linked.symlink_to(repo.checkout.parent, target_is_directory=True)
    return replace(
        repo,
        remote=linked / repo.remote.name,
        checkout=linked / repo.checkout.name,
    )


def bare_with_worktrees(root: Path) -> Repo:
    """A clone kept bare in `.bare`, with `main/` and `side/` as worktrees (GIT-040, GIT-043).

    `checkout` is the worktree of the base branch; its `.git` is a file.
    """
    repo = make_repo(root / "origin")
    home = root / "home"
    home.mkdir()
    git(home, "clone", "-q", "--bare", repo.url, ".bare")
    (home / ".git").write_text("gitdir: ./.bare\n")
    git(home, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    git(home, "fetch", "-q", "origin")
    git(home, "worktree", "add", "-q", "main", repo.base)
    git(home, "worktree", "add", "-q", "-b", "side", "side", repo.base)
    return replace(repo, checkout=home / "main")


def linked_worktree(repo: Repo, path: Path, branch: str = "side") -> Repo:
    """A second worktree of the person's clone, as the checkout (GIT-040)."""
    git(repo.checkout, "worktree", "add", "-q", "-b", branch, str(path), repo.base)
    return replace(repo, checkout=path)


def submodule_checkout(repo: Repo, root: Path) -> Repo:
    """The repository as a submodule of another, as the checkout; its `.git` is a file (GIT-040)."""
    outer = make_repo(root).checkout
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", repo.url, "inner")
    return replace(repo, checkout=outer / "inner")


def shallow_clone(repo: Repo, path: Path) -> Repo:
    """A clone with one commit of history, as the checkout."""
    git(path.parent, "clone", "-q", "--depth=1", repo.url, str(path))
    return replace(repo, checkout=path)
