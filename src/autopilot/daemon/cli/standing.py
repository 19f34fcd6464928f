"""Which checkout a person stands in: its folder, and where its remotes are.

Must not change anything, and must not fail: who stands nowhere is told to name a repository.
"""

from __future__ import annotations

from pathlib import Path

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git, GitError
from autopilot.config.paths import find_paths

_PATIENCE_S = 5.0
_REMOTES = r"^remote\..*\.(push)?url$"


def places() -> list[str]:
    """Give the folder and the addresses; none outside of a checkout."""
    folder = Path.cwd()
    git = Git(SystemClock(), find_paths().ensure().state, timeout_s=_PATIENCE_S)
    try:
        top = git.run("rev-parse", "--show-toplevel", cwd=folder).decode(errors="replace").strip()
    except GitError:
        return []
    try:
        told = git.run("config", "--local", "-z", "--get-regexp", _REMOTES, cwd=folder)
    except GitError:  # it has no remote
        told = b""
    pairs = (each.partition("\n")[2] for each in told.decode(errors="replace").split("\0"))
    return [top, *(address for address in pairs if address)]
