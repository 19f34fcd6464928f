"""What we and our children make, and what we read, is nobody else's.

Must not be called on import: each of our processes says it once, before it makes or reads anything.
"""

from __future__ import annotations

import os

_ONLY_US = 0o077
_NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


def keep_private() -> None:
    """Set the umask, whatever we were started with, and let no plugin of another package see our records.

    A umask of 0 would let everybody write, 0777 not even us. To look for plugins would also read the metadata
    of every package that is installed, in every process.
    Source: umask(2): it is handed down to every child, so an agent's worktree and git's files are covered;
    github.com/pydantic/pydantic/pull/8767: the variable is read when the first record is built.
    """
    os.umask(_ONLY_US)
    os.environ[_NO_PLUGINS] = "__all__"
