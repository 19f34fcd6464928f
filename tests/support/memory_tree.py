"""A commit's files without a repository: what the stack adapters read, from a mapping."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from autopilot.config.git import Git
from autopilot.runner.stacks.tree import Blob, Tree

SHA = "a" * 40


class _BlobReader:
    """Answers `cat-file --batch`, the only thing a Tree asks git for."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents

    def run(self, *args: str, git_dir: Path, stdin: bytes) -> bytes:
        assert args == ("cat-file", "--batch")
        oids = stdin.decode().split()
        return b"".join(
            f"{oid} blob {len(self._contents[oid])}\n".encode() + self._contents[oid] + b"\n" for oid in oids
        )


def memory_tree(files: Mapping[str, str | bytes] | None = None, *, sha: str = SHA) -> Tree:
    """A tree that holds these files."""
    raw = {path: text.encode() if isinstance(text, str) else text for path, text in (files or {}).items()}
    oids = {path: hashlib.sha1(content, usedforsecurity=False).hexdigest() for path, content in raw.items()}
    blobs = {
        path: Blob(oid=oids[path], size_bytes=len(content), is_file=True) for path, content in raw.items()
    }
    reader = _BlobReader({oids[path]: content for path, content in raw.items()})
    return Tree(sha=sha, blobs=blobs, git=cast("Git", reader), git_dir=Path("memory"))
