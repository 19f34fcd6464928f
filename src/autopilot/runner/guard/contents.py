"""What is in a file that a tool writes, and how much of one it reads at once.

Must not repeat a secret, open a file, or judge a path: that is done before.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from autopilot.config.tokens import value_form
from autopilot.runner.guard.verdict import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autopilot.runner.guard.verdict import GuardRequest

# What a tool takes away, and where; all else that it is given is written.
_NOT_WRITTEN = frozenset({"old_string", "description", "cwd"})
_MADE_UP = re.compile(r"(?i)example|placeholder|redacted|dummy|x{8}")
_READERS = frozenset({"Read", "NotebookRead"})
_KIB = 1024


def check_written(request: GuardRequest) -> None:
    """Look for tokens through what would be written, the names of files and a commit's message among it.

    Raises:
        Refused: there is one.
    """
    for text in _texts(request.given, is_patch=request.tool == "apply_patch"):
        if any(not _MADE_UP.search(found.group()) for found in value_form().finditer(text)):
            raise Refused(
                "secret",
                "what would be written holds a credential; read it from the environment or a key ring at run "
                "time; in a test, put a made-up one together from parts",
            )


def check_size(request: GuardRequest, paths: Iterable[str], *, max_bytes: int) -> None:
    """Let a large file be read in parts only.

    Args:
        request: what is asked.
        paths: the files, as the system finds them.
        max_bytes: how much may be read at once; 0 = any amount.

    Raises:
        Refused: a file is larger, and no part of it is named.
    """
    if not max_bytes or request.tool not in _READERS or request.given.get("limit") is not None:
        return
    for path in paths:
        try:
            size = os.stat(path).st_size  # noqa: PTH116 - no Path: this is the hot path
        except OSError:
            continue
        if size > max_bytes:
            raise Refused(
                "read-size",
                f"{os.path.basename(path)!r} has {size // _KIB} KiB, and at once at most "  # noqa: PTH119
                f"{max_bytes // _KIB} KiB are read; look with grep, then read a part: offset and limit",
            )


def _texts(given: object, *, is_patch: bool) -> Iterator[str]:
    match given:
        case str() if is_patch:
            yield "\n".join(line for line in given.splitlines() if not line.startswith("-"))
        case str():
            yield given
        case list() | tuple():
            for each in given:
                yield from _texts(each, is_patch=is_patch)
        case _ if hasattr(given, "items"):
            for name, value in given.items():
                yield str(name)
                if name not in _NOT_WRITTEN:
                    yield from _texts(value, is_patch=is_patch)
