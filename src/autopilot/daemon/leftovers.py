"""Removes files that have had their time: logs of ended runs, digests, reports, requests to publish.

Must not follow a link and must not touch a repository or a worktree: cleaning those up is an act of its own.
"""

from __future__ import annotations

import itertools
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.config.paths import ARTIFACTS, EVENTS_FILE, PUBLISH_EVENTS_FILE, PUBLISH_FOLDER
from autopilot.config.removal import remove_tree
from autopilot.daemon.store import queries_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.daemon.store.engine import Store

BATCH = 50
_JOURNALS = frozenset({EVENTS_FILE, PUBLISH_EVENTS_FILE})
_LOG_SUFFIX = ".log"
_NS_PER_MS = 1_000_000


def clear(store: Store, paths: Paths, *, logs_before_ms: int, files_before_ms: int) -> Iterator[int]:
    """Go through all of it in small steps; each gives how many files it removed.

    Args:
        store: knows which runs belong to tickets that have ended.
        paths: where the files are.
        logs_before_ms: runs of tickets that ended before (UTC epoch ms) lose their logs.
        files_before_ms: other files last written before go.
    """
    for names in _batches(paths.runs):
        yield sum(_clear_run(paths.runs / name) for name in _ended(store, names, logs_before_ms))
    for folder in _copies(paths.salvage):
        for names in _batches(folder):
            for name in _ended(store, names, logs_before_ms):
                yield _remove_copy(folder / name)
    for names in _batches(paths.pr_requests):
        runs = {name: name.split(".")[0] for name in names}
        ended = _ended(store, runs.values(), files_before_ms)
        gone = [name for name in names if runs[name] in ended]
        yield sum(_remove_if_old(paths.pr_requests / name, files_before_ms) for name in gone)
    for names in _batches(paths.deliveries):
        yield sum(_remove_delivery(paths.deliveries / name, files_before_ms) for name in names)
    for folder in (paths.digests, paths.reports):
        for names in _batches(folder):
            yield sum(_remove_if_old(folder / name, files_before_ms) for name in names)


def _copies(salvage: Path) -> Iterator[Path]:
    """Name the folders in which copies of runs' logs are; bundles and patches lie beside them and stay."""
    for names in _batches(salvage):
        for folder in (salvage / name / ARTIFACTS for name in names):
            if not folder.is_symlink() and not folder.parent.is_symlink():
                yield folder


def _remove_delivery(folder: Path, before_ms: int) -> int:
    """Remove what a delivery was told and answered, and its mark: nothing that old is sent again."""
    try:
        is_old = folder.lstat().st_mtime_ns < before_ms * _NS_PER_MS
        return remove_tree(folder) if is_old else 0
    except OSError:
        return 0  # as below


def _remove_copy(folder: Path) -> int:
    try:
        return remove_tree(folder)
    except OSError:
        return 0  # what stays of it is looked at again the next day


def _batches(folder: Path) -> Iterator[list[str]]:
    """Name what a folder holds, so many at a time, without a list of all."""
    try:
        listing = os.scandir(folder)
    except OSError:
        return
    with listing:
        while names := [entry.name for entry in itertools.islice(listing, BATCH)]:
            yield names


def _ended(store: Store, runs: Iterable[str], before_ms: int) -> frozenset[str]:
    with store.read() as conn:
        return queries_runs.ended_before(conn, runs, before_ms)


def _clear_run(folder: Path) -> int:
    """Remove a run's logs; the folder itself where nothing but plain files is left in it."""
    removed = 0
    with _opened(folder) as handle:
        if handle is None:
            return 0
        removed += _clear_folder(handle, PUBLISH_FOLDER)
        kinds = {name: _mode(handle, name) for name in _names(handle)}
        is_bare = all(stat.S_ISREG(mode) for mode in kinds.values())
        for name, mode in kinds.items():
            if stat.S_ISREG(mode) and (is_bare or _is_log(name)):
                removed += _unlink(handle, name)
    if is_bare:
        _rmdir(folder.rmdir)
    return removed


def _clear_folder(parent: int, name: str) -> int:
    """Remove a sub-folder of plain files alone; of another only the logs."""
    with _opened(name, within=parent) as handle:
        if handle is None:
            return 0
        modes = {entry: _mode(handle, entry) for entry in _names(handle)}
        is_bare = all(stat.S_ISREG(mode) for mode in modes.values())
        gone = [entry for entry, mode in modes.items() if stat.S_ISREG(mode) and (is_bare or _is_log(entry))]
        removed = sum(_unlink(handle, entry) for entry in gone)
    if is_bare:
        _rmdir(lambda: os.rmdir(name, dir_fd=parent))
    return removed


def _is_log(name: str) -> bool:
    return name in _JOURNALS or name.endswith(_LOG_SUFFIX)


def _remove_if_old(path: Path, before_ms: int) -> int:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_mtime_ns // _NS_PER_MS >= before_ms:
            return 0
        path.unlink()
    except OSError:
        return 0  # it is gone already, or stays; the next day looks again
    return 1


@contextmanager
def _opened(folder: Path | str, *, within: int | None = None) -> Iterator[int | None]:
    """Open a real folder, so that nobody can put a link in its place meanwhile."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    except OSError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _names(handle: int) -> list[str]:
    with os.scandir(handle) as listing:
        return [entry.name for entry in listing]


def _mode(handle: int, name: str) -> int:
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
    except OSError:
        return 0


def _unlink(handle: int, name: str) -> int:
    try:
        os.unlink(name, dir_fd=handle)
    except OSError:
        return 0
    return 1


def _rmdir(remove: Callable[[], None]) -> None:
    try:
        remove()
    except OSError:
        return  # something came into it meanwhile
