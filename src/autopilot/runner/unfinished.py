"""Looks for what a merge or a rebase that was broken off has left in files.

Must not judge a file that is new: what it holds may be meant, as in a test of a merge tool.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from autopilot.runner.changes import shown_path
from autopilot.runner.stacks.tree import MAX_BLOB_BYTES, Tree

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.git import Git

_MAX_NAMED = 5
# Source: git-merge(1), "How conflicts are presented".
_MARKS = (re.compile(rb"(?m)^<{7} "), re.compile(rb"(?m)^={7}\r?$"), re.compile(rb"(?m)^>{7} "))


def conflicts(git: Git, repository: Path, *, base: str, tree: str) -> tuple[str, ...]:
    """Name the files that hold marks of a conflict now, and held none in the base.

    Raises:
        GitError: one of the trees is not there.
    """
    before, after = Tree.at(git, repository, base), Tree.at(git, repository, tree)
    changed = [path for path, blob in before.blobs.items() if after.blobs.get(path, blob) != blob]
    marked = [path for path, new in after.contents(changed, max_bytes=MAX_BLOB_BYTES) if _is_marked(new)]
    were = {path for path, old in before.contents(marked, max_bytes=MAX_BLOB_BYTES) if _is_marked(old)}
    found = [shown_path(os.fsencode(path)) for path in marked if path not in were]
    if not found:
        return ()
    named = ", ".join(found[:_MAX_NAMED])
    return (f"marks of a conflict stand in {named}: decide what is to stay there, and take the marks out",)


def _is_marked(content: bytes) -> bool:
    """Tell whether the three marks of a conflict stand there in their order."""
    at = 0
    for mark in _MARKS:
        found = mark.search(content, at)
        if found is None:
            return False
        at = found.end()
    return True
