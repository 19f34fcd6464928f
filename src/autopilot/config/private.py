"""Nothing that we or our children make can be read or written by another user.

Must not be called on import: each of our processes says it once, before it makes anything.
"""

from __future__ import annotations

import os

_ONLY_US = 0o077


def keep_private() -> None:
    """Set the umask, whatever we were started with: 0 would let everybody write, 0777 not even us.

    Source: umask(2): it is handed down to every child, so an agent's worktree and git's files are covered.
    """
    os.umask(_ONLY_US)
