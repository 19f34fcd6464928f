"""Sets the demo's stage: a small real repository with a red test, a bare remote, a configuration of its own.

Must not touch anything outside the folder it is given, and removes only a folder that it made itself.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.config.git import Git
from autopilot.schemas.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from autopilot.config.clock import Clock

MARK = ".made-by-autopilot-demo"
AGENTS = ("honest", "boaster", "asker")
EXPECTED: Mapping[str, tuple[str, str | None]] = {
    "T-1": ("published", None),
    "T-2": ("parked", "breaker"),
    "T-3": ("parked", "questions"),
}
_AUTHOR: Mapping[str, str] = {"user.name": "Demo Shopkeeper", "user.email": "shopkeeper@example.invalid"}


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the demo lives."""

    home: Path
    remote: Path
    tickets: tuple[Path, ...]


def build(home: Path, clock: Clock) -> Stage:
    """Make everything anew.

    Raises:
        RefusedError: the folder holds something that the demo did not make.
    """
    if home.exists() and any(home.iterdir()) and not (home / MARK).exists():
        raise RefusedError(
            "folder-not-ours", f"{home} is not empty and not a demo's", hint="give another --home"
        )
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True, mode=0o700)
    (home / MARK).touch()
    here = resources.files("autopilot.daemon.demo")
    for part in ("project", "scripts", "tickets"):
        _copy(here / part, home / part)
    remote = home / "till.git"
    _publish_project(home / "project", remote, Git(clock=clock, scratch=home / "scratch"))
    (home / "config.toml").write_text(_config(home, remote), encoding="utf-8")
    return Stage(home=home, remote=remote, tickets=tuple(sorted((home / "tickets").iterdir())))


def _copy(source: Traversable, target: Path) -> None:
    """Copy a resource; the suffix `.in` keeps our own tools from taking the demo's files for ours."""
    if source.is_file():
        target.write_bytes(source.read_bytes())
        return
    target.mkdir(exist_ok=True)
    for child in source.iterdir():
        if child.name != "__pycache__":
            _copy(child, target / child.name.removesuffix(".in"))


def _publish_project(project: Path, remote: Path, git: Git) -> None:
    git.run("init", "--quiet", "--initial-branch=main", str(project), cwd=project)
    git.run("add", "--all", cwd=project)
    git.run("commit", "--quiet", "--message", "A till with a rounding fault", cwd=project, config=_AUTHOR)
    git.run("clone", "--quiet", "--bare", "--", str(project), str(remote), cwd=project)
    git.run("remote", "add", "origin", str(remote), cwd=project)


def _config(home: Path, remote: Path) -> str:
    agents = "".join(_agent(name, home / "scripts" / f"{name}.yaml") for name in AGENTS)
    return f"""# Made by autopilot demo.
default_agent = "demo-honest"
max_parallel_agents = 3
per_repo_parallel = 3
launch_stagger_s = 0
min_free_disk_gib = 0
min_free_memory_gib = 0

[identity]
name = "Demo Shopkeeper"
email = "shopkeeper@example.invalid"

{agents}[[repo]]
name = "till"
path = {json.dumps(str(remote))}
base = "main"
forge = "local"
"""


def _agent(name: str, script: Path) -> str:
    return f'[agents.demo-{name}]\nkind = "scripted"\nscript = {json.dumps(str(script))}\n\n'
