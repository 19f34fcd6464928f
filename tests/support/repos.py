"""Builds real git repositories: a bare remote and the operator's own checkout of it.

Unusual shapes are in `repo_layouts`, unusual contents in `repo_contents`, things
that bite (hooks, signing, locks) in `repo_traps`.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from tests.support.gitcmd import AUTHOR_EMAIL, AUTHOR_NAME, COMMIT_EPOCH_S, git, git_bytes
from tests.support.projects import Project, python_project

_AUTHOR: Final = f"{AUTHOR_NAME} <{AUTHOR_EMAIL}> {COMMIT_EPOCH_S} +0000"


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

    It works by a stream on the repository alone, so that no checkout is touched and file
    names that a disk refuses can still be committed.
    """
    ref = f"refs/heads/{branch}"
    tip = "" if parentless else git(repository, "for-each-ref", "--format=%(objectname)", ref)
    text = message.removesuffix("\n").encode() + b"\n"
    stream = [
        f"commit {ref}\nmark :1\nauthor {_AUTHOR}\ncommitter {_AUTHOR}\n".encode(),
        _data(text),
        *([f"from {tip}\n".encode()] if tip else []),
        *(_file(name, content) for name, content in files.items()),
        b"\nget-mark :1\ndone\n",
    ]
    loose = ("-c", "fastimport.unpackLimit=1000000")
    return git(repository, *loose, "fast-import", "--quiet", "--done", "--force", stdin=b"".join(stream))


def _file(name: str, content: str | bytes) -> bytes:
    quoted = os.fsencode(name).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return (
        b'M 100644 inline "'
        + quoted
        + b'"\n'
        + _data(content.encode() if isinstance(content, str) else content)
    )


def _data(content: bytes) -> bytes:
    return f"data {len(content)}\n".encode() + content + b"\n"


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
    made = _made(base, tuple({**chosen.files, **(extra_files or {})}.items()))
    made.lay(root)
    return Repo(root / "remote.git", root / "checkout", base, made.sha, chosen)


@dataclass(frozen=True, slots=True)
class _Made:
    """What was made once, file by file: the same again costs one git in place of fifteen."""

    sha: str
    uri: bytes
    folders: tuple[str, ...]
    files: tuple[tuple[str, int, bytes], ...]

    def lay(self, root: Path) -> None:
        """Put it there, as if it had been made there."""
        for name in self.folders:
            (root / name).mkdir(parents=True)
        uri = root.as_uri().encode()
        for name, mode, content in self.files:
            handle = os.open(root / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(handle, "wb") as file:
                file.write(content.replace(self.uri, uri))
        git(
            root / "checkout", "update-index", "-q", "--refresh"
        )  # it knows the files of the first by their times


@lru_cache(maxsize=32)
def _made(base: str, files: tuple[tuple[str, str | bytes], ...]) -> _Made:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        remote = init_bare(root / "remote.git", base)
        sha = commit_files(remote, base, dict(files), message="Initial commit")
        clone(remote, root / "checkout")
        paths = sorted(root.rglob("*"))
        return _Made(
            sha,
            root.as_uri().encode(),
            tuple(str(path.relative_to(root)) for path in paths if path.is_dir()),
            tuple(
                (str(path.relative_to(root)), path.stat().st_mode & 0o777, path.read_bytes())
                for path in paths
                if not path.is_dir()
            ),
        )


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
