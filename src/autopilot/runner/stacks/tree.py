"""The files of one commit, read from a repository of ours.

Must never be pointed at the agent's repository: replace refs, grafts and lazy fetches there show another tree
than the one that is pushed. Source: docs/decisions/0030.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from autopilot.config.git import Git

MAX_BLOB_BYTES = 1024 * 1024

_HEAP_BYTES = 32 * 1024 * 1024
_FILE_MODES = frozenset({"100644", "100755"})
_LINK_MODE = "120000"


@dataclass(frozen=True, slots=True)
class Blob:
    """One tracked file: how git names its content, and whether it is a plain file or a link."""

    oid: str
    size_bytes: int
    is_file: bool
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """The tracked paths of `sha`, each with its blob; contents are read when asked for."""

    sha: str
    blobs: Mapping[str, Blob]
    git: Git
    git_dir: Path

    @classmethod
    def at(cls, git: Git, git_dir: Path, sha: str) -> Self:
        """List a commit's files.

        Raises:
            GitError: the repository does not hold the commit.
        """
        rows = git.lines_z("ls-tree", "-r", "-z", "-l", "--full-tree", sha, git_dir=git_dir)
        return cls(sha=sha, blobs=MappingProxyType(dict(map(_entry, rows))), git=git, git_dir=git_dir)

    def read(self, path: str) -> bytes | None:
        """Give a plain file's content, or None when there is no such file or it is beyond 1 MiB."""
        return self.read_many((path,)).get(path)

    def read_many(self, paths: Iterable[str], *, max_bytes: int = MAX_BLOB_BYTES) -> dict[str, bytes]:
        """Give the contents of several plain files with one process; no file, or too large: missing."""
        return self._read([path for path in paths if self._is_readable(path, max_bytes)])

    def contents(
        self, paths: Iterable[str], *, max_bytes: int, with_links: bool = False
    ) -> Iterator[tuple[str, bytes]]:
        """Give the contents of any number of plain files, never much of them in memory at once.

        With links, the content of one is where it leads.
        """
        heap: list[str] = []
        room = _HEAP_BYTES
        for path in paths:
            if self._is_readable(path, max_bytes, with_links=with_links):
                heap.append(path)
                room -= self.blobs[path].size_bytes
            if room <= 0:
                yield from self._read(heap).items()
                heap, room = [], _HEAP_BYTES
        yield from self._read(heap).items()

    def _is_readable(self, path: str, max_bytes: int, *, with_links: bool = False) -> bool:
        blob = self.blobs.get(path)
        is_wanted = blob is not None and (blob.is_file or (with_links and blob.is_link))
        return blob is not None and is_wanted and blob.size_bytes <= max_bytes

    def _read(self, paths: list[str]) -> dict[str, bytes]:
        if not paths:
            return {}
        names = "".join(f"{self.blobs[path].oid}\n" for path in paths).encode()
        out = self.git.run("cat-file", "--batch", git_dir=self.git_dir, stdin=names)
        return dict(_batch_contents(out, paths))


def _entry(row: bytes) -> tuple[str, Blob]:
    facts, _, name = row.partition(b"\t")
    mode, _, oid, size = facts.decode("ascii").split()
    size_bytes = int(size) if size.isdigit() else 0
    is_file, is_link = mode in _FILE_MODES, mode == _LINK_MODE
    return os.fsdecode(name), Blob(oid=oid, size_bytes=size_bytes, is_file=is_file, is_link=is_link)


def _batch_contents(out: bytes, paths: list[str]) -> Iterable[tuple[str, bytes]]:
    """Split what `cat-file --batch` printed: a line `<oid> <type> <size>`, the content, a line end."""
    at = 0
    for path in paths:
        line_end = out.index(b"\n", at)
        size = int(out[at:line_end].rsplit(b" ", 1)[1])
        start = line_end + 1
        yield path, out[start : start + size]
        at = start + size + 1
