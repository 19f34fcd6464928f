"""The same questions give the same answers in every layout of a repository (field report GIT-040)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from tests.support import repo_layouts
from tests.support.repos import Repo, make_repo

LAYOUTS: dict[str, Callable[[Path], Repo]] = {
    "clone": lambda root: make_repo(root / "r"),
    "linked worktree": lambda root: repo_layouts.linked_worktree(make_repo(root / "r"), root / "linked"),
    "bare with worktrees": lambda root: repo_layouts.bare_with_worktrees(root / "r"),
    "submodule": lambda root: repo_layouts.submodule_checkout(make_repo(root / "r"), root / "outer"),
    "symbolic link": lambda root: repo_layouts.symlinked_repo(make_repo(root / "r"), root / "links"),
    "shallow": lambda root: repo_layouts.shallow_clone(make_repo(root / "r"), root / "shallow"),
}


@pytest.mark.field_report("GIT-040")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_paths_and_commits_are_found_through_git_itself(tmp_path: Path, layout: str) -> None:
    repo = LAYOUTS[layout](tmp_path)
    git = Git(SystemClock(), tmp_path / "scratch", timeout_s=30)

    def ask(*args: str) -> Path:
        return Path(git.run("rev-parse", "--path-format=absolute", *args, cwd=repo.checkout).decode().strip())

    assert git.run("rev-parse", "HEAD", cwd=repo.checkout).decode().strip() == repo.base_sha
    assert ask("--show-toplevel") == repo.checkout.resolve()
    assert (ask("--git-common-dir") / "objects").is_dir()
    assert ask("--git-path", "index").is_file()
    shallow = git.run("rev-parse", "--is-shallow-repository", cwd=repo.checkout).strip() == b"true"
    assert shallow == (layout == "shallow") == ask("--git-path", "shallow").exists()
