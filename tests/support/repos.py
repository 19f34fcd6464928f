"""Builds real git repositories: a bare remote and the operator's own checkout of it.

Unusual shapes are in `repo_layouts`, unusual contents in `repo_contents`, things
that bite (hooks, signing, locks) in `repo_traps`.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.gitcmd import git, git_bytes
from tests.support.projects import Project, python_project


@dataclass(frozen=True, slots=True)
class Repo:
    """A remote with one initial commit, and a clone of it that a person works in."""

    remote: Path
    checkout: Path
    base: str
    base_sha: str
    project: Project

    @property
    def url(self) -> str:
        """The remote as a file URL."""
        return self.remote.as_uri()


def write_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a directory; text is written as UTF-8 with its own line ends."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def init_bare(path: Path, base: str = "main") -> Path:
    """An empty bare repository whose HEAD names `base`."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare")
    git(path, "symbolic-ref", "HEAD", f"refs/heads/{base}")
    return path


def commit_files(
    repository: Path,
    branch: str,
    files: Mapping[str, str | bytes],
    *,
    message: str = "Change files",
    parentless: bool = False,
) -> str:
    """Add one commit with these files to a branch of any repository; returns its sha.

    It works by plumbing on a private index, so that no checkout is touched and file
    names that a disk refuses can still be committed.
    """
    ref = f"refs/heads/{branch}"
    tip = "" if parentless else git(repository, "for-each-ref", "--format=%(objectname)", ref)
    git_dir = git(repository, "rev-parse", "--absolute-git-dir")
    index = {"GIT_INDEX_FILE": f"{git_dir}/support-index-{os.getpid()}"}
    if tip:
        git(repository, "read-tree", tip, extra_env=index)
    else:
        git(repository, "read-tree", "--empty", extra_env=index)
    entries = b"".join(_index_entry(repository, name, content) for name, content in files.items())
    git(repository, "update-index", "-z", "--index-info", stdin=entries, extra_env=index)
    tree = git(repository, "write-tree", extra_env=index)
    Path(index["GIT_INDEX_FILE"]).unlink()
    parents = ("-p", tip) if tip else ()
    sha = git(repository, "commit-tree", tree, *parents, "-m", message)
    git(repository, "update-ref", ref, sha)
    return sha


def _index_entry(repository: Path, name: str, content: str | bytes) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=data)
    return f"100644 {blob}\t".encode() + os.fsencode(name) + b"\0"


def clone(remote: Path, checkout: Path) -> Path:
    """Clone as a person would: `origin`, remote-tracking refs, a branch checked out."""
    checkout.parent.mkdir(parents=True, exist_ok=True)
    git(checkout.parent, "clone", "-q", remote.as_uri(), str(checkout))
    return checkout


def make_repo(
    root: Path,
    *,
    project: Project | None = None,
    base: str = "main",
    extra_files: Mapping[str, str | bytes] | None = None,
) -> Repo:
    """The ordinary case: `root/remote.git` with one commit, and `root/checkout`."""
    chosen = project or python_project()
    remote = init_bare(root / "remote.git", base)
    files: dict[str, str | bytes] = {**chosen.files, **(extra_files or {})}
    sha = commit_files(remote, base, files, message="Initial commit")
    return Repo(remote, clone(remote, root / "checkout"), base, sha, chosen)


def move_remote(repo: Repo, *, commits: int = 5, path: str = "NEWS.md", branch: str | None = None) -> str:
    """Let other people push: that many commits that rewrite `path`; returns the new tip."""
    sha = repo.base_sha
    for number in range(1, commits + 1):
        text = f"line of commit {number}\n"
        sha = commit_files(repo.remote, branch or repo.base, {path: text}, message=f"News {number}")
    return sha


def fingerprint(repository: Path) -> dict[str, str]:
    """What must not change in a person's checkout: HEAD, refs, config, index, files.

    Compare two of them for equality. Reflogs and object storage are left out.
    """
    git_dir = Path(git(repository, "rev-parse", "--absolute-git-dir"))
    common = Path(git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    seen = {
        "HEAD": (git_dir / "HEAD").read_text(),
        "refs": git(repository, "for-each-ref"),
        "config": (common / "config").read_text(),
        "worktrees": git(repository, "worktree", "list", "--porcelain"),
    }
    if git(repository, "rev-parse", "--is-inside-work-tree") == "true":
        seen["index"] = git_bytes(repository, "ls-files", "-z", "--stage", "-v").hex()
        seen["files"] = _tree_digest(Path(git(repository, "rev-parse", "--show-toplevel")))
    return seen


def _tree_digest(top: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(top.rglob("*")):
        if ".git" in path.relative_to(top).parts:
            continue
        digest.update(os.fsencode(path.relative_to(top)) + b"\0")
        if path.is_symlink():
            digest.update(os.fsencode(path.readlink()))
        elif path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
