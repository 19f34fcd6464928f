"""Repositories of unusual content: odd file names, filters, paths that differ in case."""

import os
import sys
from pathlib import Path
from typing import Final

from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, make_repo

ODD_NAMES: Final = (
    "two words.txt",
    'a "quoted" name.txt',
    "it's.txt",
    "tab\tname.txt",
    "new\nline.txt",
    "ä-ünïcode.txt",
    "日本語.txt",
    "-leading-dash.txt",
    "--force",
    "x -> y.txt",
    "back\\slash.txt",
    "dollar$(id).txt",
    " leading space.txt",
    "star*[glob]?.txt",
    ":(exclude)magic.txt",
    "dir b/inner file.txt",
    "carriage\rreturn.txt",
    "emoji-\U0001f680.txt",
)
NOT_UTF8_NAME: Final = os.fsdecode(b"latin1-\xe9.txt")
LFS_POINTER: Final = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 12345\n"
)


def allowed_names(*, not_utf8: bool = False) -> tuple[str, ...]:
    """The odd names that this system's file names can hold (macOS needs UTF-8)."""
    if not_utf8 and sys.platform != "darwin":
        return (*ODD_NAMES, NOT_UTF8_NAME)
    return ODD_NAMES


def odd_names_repo(root: Path, *, not_utf8: bool = False) -> Repo:
    """A repository that tracks every odd name (GIT-026, GIT-027)."""
    names = allowed_names(not_utf8=not_utf8)
    return make_repo(root, extra_files=dict.fromkeys(names, "content\n"))


def write_odd_names(worktree: Path) -> tuple[str, ...]:
    """Create every odd name as a new, untracked file; returns the names."""
    for name in ODD_NAMES:
        path = worktree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"written as {name!r}\n")
    return ODD_NAMES


def lfs_repo(root: Path) -> Repo:
    """`*.bin filter=lfs` with a pointer file, git-lfs configured nowhere (GIT-029)."""
    return make_repo(
        root,
        extra_files={
            ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "model.bin": LFS_POINTER,
        },
    )


def lfs_config(path: Path) -> Path:
    """The git configuration that `git lfs install` writes; git-lfs itself is absent."""
    path.write_text(
        '[filter "lfs"]\n'
        "\tclean = git-lfs clean -- %f\n"
        "\tsmudge = git-lfs smudge -- %f\n"
        "\tprocess = git-lfs filter-process\n"
        "\trequired = true\n"
    )
    return path


def smudge_repo(root: Path) -> Repo:
    """Five `*.dat` files that go through a filter named `trap` (GIT-030)."""
    files = {f"data/{number}.dat": f"raw {number}\n" for number in range(1, 6)}
    return make_repo(root, extra_files={".gitattributes": "*.dat filter=trap\n", **files})


def failing_smudge_config(folder: Path, *, fails_at: int = 3) -> Path:
    """A configuration file whose required smudge filter fails on its n-th file (GIT-030).

    Include it in a configuration (`include.path`) or name it in GIT_CONFIG_GLOBAL.
    """
    count = folder / "smudge.count"
    script = folder / "smudge.sh"
    script.write_text(
        f'#!/bin/sh\necho x >> "{count}"\n[ "$(wc -l < "{count}")" -ge {fails_at} ] && exit 1\nexec cat\n'
    )
    script.chmod(0o755)
    config = folder / "smudge.gitconfig"
    config.write_text(f'[filter "trap"]\n\tsmudge = "sh \\"{script}\\""\n\tclean = cat\n\trequired = true\n')
    return config


def case_pair_repo(root: Path) -> Repo:
    """Two tracked paths that differ only in case, and two such folders (GIT-036)."""
    return make_repo(
        root,
        extra_files={
            "AGENTS.md": "upper\n",
            "Agents.md": "mixed\n",
            "docs/guide.md": "lower folder\n",
            "Docs/guide.md": "upper folder\n",
        },
    )


def is_case_folding(folder: Path) -> bool:
    """Whether the disk below a folder takes `a` and `A` for one name."""
    probe = folder / "case-probe"
    probe.write_text("")
    folded = (folder / "CASE-PROBE").exists()
    probe.unlink()
    return folded


def add_symlink(repo: Repo, name: str, target: str) -> str:
    """Commit a symbolic link to the remote's base branch; returns the new tip."""
    blob = git(repo.remote, "hash-object", "-w", "--stdin", stdin=os.fsencode(target))
    return _commit_entry(repo, f"120000 {blob}\t{name}", "Add a link")


def add_gitlink(repo: Repo, name: str) -> str:
    """Commit a submodule pointer without a .gitmodules entry; returns the new tip."""
    return _commit_entry(repo, f"160000 {repo.base_sha}\t{name}", "Add a gitlink")


def _commit_entry(repo: Repo, entry: str, message: str) -> str:
    """Append one raw index entry to the base branch, through a private index."""
    index = {"GIT_INDEX_FILE": str(repo.remote / "entry-index")}
    ref = f"refs/heads/{repo.base}"
    git(repo.remote, "read-tree", ref, extra_env=index)
    line = os.fsencode(entry) + b"\0"
    git(repo.remote, "update-index", "-z", "--index-info", stdin=line, extra_env=index)
    tree = git(repo.remote, "write-tree", extra_env=index)
    Path(index["GIT_INDEX_FILE"]).unlink()
    sha = git(repo.remote, "commit-tree", tree, "-p", ref, "-m", message)
    git(repo.remote, "update-ref", ref, sha)
    return sha


def hide_paths(repo: Repo, *names: str) -> str:
    """Commit dot-files that change how git reads a tree (`-diff`, ignore rules)."""
    rules = "".join(f"{name} -diff\n" for name in names)
    return commit_files(repo.remote, repo.base, {".gitattributes": rules}, message="Hide")
