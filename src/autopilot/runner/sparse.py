"""Which files a sparse checkout keeps off the disk: they are missing there, and nobody deleted them.

Must not let git read the agent's own list where it is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError

if TYPE_CHECKING:
    from autopilot.runner.judge import Judge

_MAX_INDEX_BYTES = 256 * 1024 * 1024


def absent_by_sparse_checkout(judge: Judge) -> list[bytes]:
    """List the tracked paths that a sparse checkout, which the agent may have made, keeps off the disk.

    The agent's index is read as data, by our repository; a damaged one lists nothing.

    Raises:
        OSError: the index cannot be copied.
    """
    workspace = judge.workspace
    index = workspace.admin / "index"
    if not (workspace.admin / "info" / "sparse-checkout").is_file():
        return []
    copy = judge.place / "agent-index"
    try:
        copy.write_bytes(read_plain(index, max_bytes=_MAX_INDEX_BYTES))
    except UnreadableError:
        return []
    try:
        env = {"GIT_INDEX_FILE": str(copy)}
        listed = judge.git.lines_z("ls-files", "-z", "-t", git_dir=judge.place, env=env)
    except GitError:
        return []
    top = os.fsencode(workspace.worktree) + b"/"
    return [entry[2:] for entry in listed if entry.startswith(b"S ") and not os.path.lexists(top + entry[2:])]
