"""What we and our children make, and what we read, is nobody else's.

Must not be called on import: each of our processes says it once, before it makes or reads anything.
"""

from __future__ import annotations

import os
import resource

_ONLY_US = 0o077
_NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


def keep_private() -> None:
    """Set the umask, whatever we were started with, leave no core file, and let no plugin see our records.

    A umask of 0 would let everybody write, 0777 not even us. A core file would hold the credentials that we
    and our children were given. To look for plugins of other packages would also read the metadata of every
    package that is installed, in every process.
    Source: umask(2): it is handed down to every child, so an agent's worktree and git's files are covered;
    core(5): the limit is too;
    github.com/pydantic/pydantic/pull/8767: the variable is read when the first record is built.
    """
    os.umask(_ONLY_US)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ[_NO_PLUGINS] = "__all__"
