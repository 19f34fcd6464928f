"""Copies what a run left for people out of its folders, before the worktree goes: for every later reader.

Must not follow a link or read a pipe: an agent may have put anything there.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from autopilot.config.atomic import make_folder, sync_folder, sync_tree
from autopilot.config.foreign_file import UnreadableError, open_plain
from autopilot.config.paths import (
    EVENTS_FILE,
    PUBLISH_EVENTS_FILE,
    PUBLISH_FOLDER,
    RESULT_FILE,
    WORKTREE_FILE,
)
from autopilot.config.removal import remove_tree
from autopilot.runner.chronicle import STATE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIPELINE = ".pipeline"
"""Folder in a worktree in which phases keep what they have found out."""
_FOLDERS = ("gates",)
_FILES = (STATE_FILE, EVENTS_FILE, RESULT_FILE, WORKTREE_FILE)
_PATTERNS = ("*.log", "prompt-*.md")
_OF_PUBLISHING = (PUBLISH_EVENTS_FILE, "publisher.log")
_MAX_FILE_BYTES = 64 * 1024 * 1024
_MAX_FILES = 20_000
_MAX_TOTAL_BYTES = 1024 * 1024 * 1024


def copy_artifacts(run_dir: Path, target: Path, *, worktree: Path, more: tuple[Path, ...] = ()) -> int:
    """Copy a run's record, its logs, its gates' evidence and the worktree's `.pipeline` folder, whole.

    Args:
        run_dir: the run's folder.
        target: where they go; it appears under this name when it is complete.
        worktree: where the agent worked.
        more: single files, as the request to publish and the verdict.

    Returns:
        How many files there are. Of a file beyond 64 MiB the end is kept; at 1 GiB in all it stops.

    Raises:
        OSError: the copy cannot be written.
    """
    making = target.with_name(f".{target.name}.part")
    remove_tree(making)
    make_folder(target.parent)
    making.mkdir(mode=0o700)
    count, total_bytes = 0, 0
    for source, name in _sources(run_dir, worktree, more):
        if count >= _MAX_FILES or total_bytes >= _MAX_TOTAL_BYTES:
            break  # an agent may have filled its folders without end; the record and the logs come first
        copied = _copied_bytes(source, making / name)
        count, total_bytes = count + (copied is not None), total_bytes + (copied or 0)
    remove_tree(target)
    sync_tree(making)  # what is copied here is removed there
    making.rename(target)
    sync_folder(target.parent)
    return count


def _sources(run_dir: Path, worktree: Path, more: tuple[Path, ...]) -> Iterator[tuple[Path, str]]:
    names = [*_FILES, *(path.name for pattern in _PATTERNS for path in run_dir.glob(pattern))]
    yield from ((run_dir / name, name) for name in sorted(set(names)))
    publishing = run_dir / PUBLISH_FOLDER
    yield from ((publishing / name, f"{PUBLISH_FOLDER}/{name}") for name in _OF_PUBLISHING)
    yield from ((path, path.name) for path in more)
    for top, prefix in (*((run_dir / name, name) for name in _FOLDERS), (worktree / PIPELINE, PIPELINE)):
        yield from ((path, f"{prefix}/{path.relative_to(top)}") for path in _files_below(top))


def _files_below(top: Path) -> Iterator[Path]:
    folders = [top] if top.is_dir() and not top.is_symlink() else []
    while folders:
        with suppress(OSError), os.scandir(folder := folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(folder / entry.name)
                elif entry.is_file(follow_symlinks=False):
                    yield folder / entry.name


def _copied_bytes(source: Path, target: Path) -> int | None:
    try:
        handle = open_plain(source)
    except UnreadableError:
        return None
    with os.fdopen(handle, "rb") as content:
        content.seek(max(0, os.fstat(content.fileno()).st_size - _MAX_FILE_BYTES))
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with target.open("wb") as copy:
            shutil.copyfileobj(content, copy)
            return copy.tell()
