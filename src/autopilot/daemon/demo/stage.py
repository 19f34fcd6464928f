"""Sets the demo's stage: a small real repository with a red test, a bare remote, a configuration of its own.

Must not touch anything outside the folder it is given, and removes only a folder that it made itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.config.git import Git
from autopilot.config.removal import remove_tree
from autopilot.schemas.errors import ConfigError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.schemas.cell import SandboxKind

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
    programs: Path
    """A folder for the front of PATH: `python3` in it is the interpreter that runs us."""
    tickets: tuple[Path, ...]


@contextmanager
def claimed(home: Path) -> Iterator[None]:
    """Hold the folder inside the block.

    Raises:
        RefusedError: it holds something that no demo made, or another demo plays there.
        ConfigError: it cannot be used.
    """
    mark = home / MARK
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not mark.exists() and any(home.iterdir()):
            what = f"{home} is not empty and no demo made it"
            raise RefusedError("folder-not-ours", what, hint="give another --home")
        handle = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as exc:
        what = f"cannot use the folder {home}: {exc.strerror}"
        raise ConfigError("folder-unusable", what, hint="give another --home") from exc
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as exc:
        raise RefusedError(
            "demo-running", f"a demo plays in {home}", hint="wait, or give another --home"
        ) from exc
    finally:
        os.close(handle)


def build(home: Path, clock: Clock, *, sandbox: SandboxKind) -> Stage:
    """Make everything anew in a folder that is claimed."""
    for left in home.iterdir():
        if left.name != MARK:
            remove_tree(left)
    here = resources.files("autopilot.daemon.demo")
    for part in ("project", "scripts", "tickets"):
        _copy(here / part, home / part)
    remote = home / "till.git"
    _publish_project(home / "project", remote, Git(clock=clock, scratch=home / "scratch"))
    (home / "config.toml").write_text(_config(home, remote, sandbox), encoding="utf-8")
    tickets = tuple(sorted((home / "tickets").iterdir()))
    return Stage(home=home, remote=remote, programs=_programs(home / "programs"), tickets=tickets)


def _programs(folder: Path) -> Path:
    folder.mkdir()
    python = folder / "python3"
    interpreter = shlex.quote(f"{sys.executable}")  # runs the demo's project, and nothing of ours
    python.write_text(f'#!/bin/sh\nexec {interpreter} "$@"\n', encoding="utf-8")
    python.chmod(0o700)
    return folder


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


def _config(home: Path, remote: Path, sandbox: SandboxKind) -> str:
    agents = "".join(_agent(name, home / "scripts" / f"{name}.yaml") for name in AGENTS)
    return f"""# Made by autopilot demo.
default_agent = "demo-honest"
max_parallel_agents = 3
per_repo_parallel = 3
launch_stagger_s = 0
min_free_disk_gib = 0
min_free_memory_gib = 0
max_load_per_cpu = 0

[daemon]
drain_s = 1

[awake]
enabled = false

[checkup]
rehearse = false
baseline_s = 0
every_s = 0

[sandbox]
kind = "{sandbox}"

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
