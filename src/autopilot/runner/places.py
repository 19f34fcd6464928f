"""Where things lie in a repository, as git itself says, and repositories that borrow the mirror's objects.

Must not build a path below `.git` by hand for a layout that it does not know.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.git import Git

_SHA256_DIGITS = 64


def git_path(git: Git, git_dir: Path, name: str) -> Path:
    """Give the place of a file of a repository, whatever its layout. Source: git-rev-parse(1).

    Raises:
        GitError: this is no repository.
    """
    out = git.run("rev-parse", "--path-format=absolute", "--git-path", name, git_dir=git_dir)
    return Path(os.fsdecode(out.rstrip(b"\n")))


def object_format(sha: str) -> str:
    """Name the format of a repository's object names."""
    return "sha256" if len(sha) == _SHA256_DIGITS else "sha1"


def make_borrower(git: Git, place: Path, *, mirror: Path, sha: str) -> None:
    """Make a bare repository that has the mirror's objects without a copy.

    Raises:
        GitError, OSError: it could not be made.
    """
    make_bare(git, place, sha=sha)
    borrow(place, mirror=mirror)


def make_bare(git: Git, place: Path, *, sha: str) -> None:
    """Make a bare repository for objects whose names are like this one.

    Raises:
        GitError, OSError: it could not be made.
    """
    git.run("init", "--quiet", "--bare", "--template=", f"--object-format={object_format(sha)}", str(place))
    for key, value in platform_config(place).items():
        git.run("config", key, value, git_dir=place)


def borrow(place: Path, *, mirror: Path) -> None:
    """Let a repository have the mirror's objects, too. Source: gitrepository-layout(5).

    Raises:
        OSError: it could not be written down.
    """
    # Both are bare repositories that we made: there the layout is known, and asking is two processes more.
    objects, alternates = (mirror / "objects").resolve(), place / "objects" / "info" / "alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_bytes(os.fsencode(objects) + b"\n")


def platform_config(folder: Path) -> Mapping[str, str]:
    """Give what `git init` finds out about the disk, but not for a bare repository."""
    config = {}
    if (folder / "config").exists() and (folder / "CONFIG").exists():
        config["core.ignorecase"] = "true"
    if sys.platform == "darwin":
        config["core.precomposeunicode"] = "true"
    return config
