"""Whether the program that git asks for a credential when it fetches is found by whoever fetches.

A person's git may sign in by a program of its own, as `gh auth setup-git` has it; a service may not find it.
Must not start that program, or ask it for anything.
Source: gitcredentials(7), "Custom helpers".
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING

from autopilot.config import environ
from autopilot.config.git import GitError
from autopilot.daemon.checkup.check import ok, warning
from autopilot.daemon.checkup.remote import git_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.git import Git
    from autopilot.config.repository import Repo
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check

_PROGRAM = re.compile(r"[\w./+-]+")
"""What is no more than a program's name; a line of shell beside it is for the shell to say."""


def sign_in(repo: Repo, scene: Scene, limit: Limit) -> Iterator[Check]:
    """Look for the program that git asks first for this remote; nothing where it asks none."""
    if not repo.fetch_from.startswith(("https://", "http://")):
        return
    git = git_of(scene, limit)
    label, wanted = f"git sign-in of {repo.name}", _asked_by_git(git, repo, scene)
    if not wanted:
        return
    places = environ.search_path(scene.runner.environment)
    if found := shutil.which(wanted, path=os.pathsep.join((_own_programs(git, scene), places))):
        yield ok(label, f"git asks {found}")
        return
    what = f"git asks {wanted} when it fetches, which is not on PATH{scene.runner.owner}"
    cure = "autopilot install notes PATH anew; or name it by its whole path in git's credential.helper"
    yield warning(label, what, cure)


def _asked_by_git(git: Git, repo: Repo, scene: Scene) -> str:
    """Give the program's name, or its place; empty where there is none, or it cannot be told."""
    try:
        told = git.run(
            "config", "--get-urlmatch", "--", "credential.helper", repo.fetch_from, cwd=scene.paths.state
        )
    except GitError:
        return ""
    text = told.decode(errors="replace").strip()
    try:
        words = shlex.split(text.removeprefix("!"))
    except ValueError:
        return ""
    if not words or not _PROGRAM.fullmatch(words[0]):
        return ""
    return words[0] if text.startswith(("!", "/")) else f"git-credential-{words[0]}"


def _own_programs(git: Git, scene: Scene) -> str:
    """Give the folder in which git has the programs that came with it."""
    return git.run("--exec-path", cwd=scene.paths.state).decode().strip()
