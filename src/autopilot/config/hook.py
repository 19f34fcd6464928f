"""What git hands to a program that it starts: variables that say where a repository is.

A command typed inside of a hook, or behind `!` in an alias, inherits them; every git that we start after it
would work on that repository. Must not be called on import: each of our programs that a person starts says it
once. Stdlib only. Source: githooks(5), git(1) "ENVIRONMENT VARIABLES".
"""

from __future__ import annotations

import os

_POINTING = frozenset(
    {
        *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
    }
)


def forget_git() -> tuple[str, ...]:
    """Drop every variable of git's from our own environment.

    Returns:
        The names of those that pointed at a repository: somebody started us from inside of git.
    """
    found = sorted(name for name in os.environ if name.startswith("GIT_"))
    for name in found:
        del os.environ[name]
    return tuple(name for name in found if name in _POINTING)
