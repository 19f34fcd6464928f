"""Reads what `shim.c` has recorded, and builds the disk that a power cut would have left at one moment.

Source: fsync(2): it flushes a file's content, "not necessarily" its entry in the folder; for that the folder
is flushed too. rename(2) says nothing of the disk. So a name counts as safe from its folder's next fsync on,
and a content from its own; what is not safe may be there all the same, and both are built.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, Literal, NamedTuple

HERE: Final = Path(__file__).parent
Names = Literal["safe", "all", "some"]
ROOT_IS_ALWAYS_THERE: Final = 0o700


class Inode(NamedTuple):
    """One file or folder, however it is called: numbers are used again, births are not."""

    number: int
    birth: int


@dataclass(frozen=True, slots=True)
class Node:
    """One name at one moment."""

    path: Path
    kind: str
    inode: Inode
    mode: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Flush:
    """One fsync."""

    number: int
    is_folder: bool
    inode: Inode
    path: Path


class Record:
    """Every flush of one night, in order."""

    def __init__(self, folder: Path) -> None:
        """Read it."""
        self.folder = folder
        self.flushes = [_flush(line) for line in (folder / "log").read_text().splitlines()]

    def names(self, number: int) -> list[Node]:
        """Give every name that there was at a flush, folders before what is in them."""
        return list(_nodes((self.folder / "tree" / str(number)).read_bytes()))

    def disk(self, number: int, *, root: Path, names: Names, dice: random.Random) -> Disk:
        """Give what a power cut right after a flush would have left.

        Args:
            number: the flush.
            root: the folder that lies on this disk.
            names: what is there of names that were not flushed: none ("safe"), all, or some by the dice.
            dice: for the last.
        """
        past = self.flushes[:number]
        return Disk(
            self,
            root,
            self.names(number),
            {one.inode: one.number for one in past if not one.is_folder},
            {one.inode: one.number for one in past if one.is_folder},
            names,
            dice,
        )


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk after a power cut. `contents` and `folders` tell the last flush of each inode."""

    record: Record
    root: Path
    now: Sequence[Node]
    contents: Mapping[Inode, int]
    folders: Mapping[Inode, int]
    names: Names
    dice: random.Random

    def build(self, *, kept: Iterable[Path], pattern: str = "*") -> None:
        """Put it in the place of the folder, whose content goes away.

        Args:
            kept: folders that lie on another machine's disk, as it were: they are as they were then.
            pattern: which of the names in the folder itself are built; the others are left out.
        """
        outside = [node for node in self.now if any(node.path.is_relative_to(folder) for folder in kept)]
        for folder in [self.root, *kept]:
            shutil.rmtree(folder, ignore_errors=True)
        self.root.mkdir(mode=ROOT_IS_ALWAYS_THERE, parents=True)
        top = next(node for node in self.now if node.path == self.root)
        self._fill(self.root, [node for node in self._children(top) if fnmatch(node.path.name, pattern)])
        for node in outside:
            _make(node.path, node, node.content)

    def _fill(self, target: Path, survivors: Iterable[Node]) -> None:
        for node in survivors:
            place = target / node.path.name
            if node.kind == "d":
                place.mkdir(mode=node.mode)
                self._fill(place, self._children(node))
            else:
                _make(place, node, self._content(node))

    def _children(self, folder: Node) -> list[Node]:
        """Give what survived of a folder's names."""
        is_all = self.names == "all" or (self.names == "some" and self.dice.random() < 0.5)
        if is_all:
            return _below(self.now, folder.inode)
        safe_at = self.folders.get(folder.inode)
        return [] if safe_at is None else _below(self.record.names(safe_at), folder.inode)

    def _content(self, node: Node) -> bytes:
        number = self.contents.get(node.inode)
        return b"" if number is None else (self.record.folder / "data" / str(number)).read_bytes()


def _below(nodes: Sequence[Node], folder: Inode) -> list[Node]:
    here = next((node.path for node in nodes if node.inode == folder), None)
    return [node for node in nodes if here is not None and node.path.parent == here != node.path]


def _make(place: Path, node: Node, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    match node.kind:
        case "d":
            place.mkdir(mode=node.mode, exist_ok=True)
        case "l":
            place.symlink_to(os.fsdecode(node.content))
        case "f":
            place.write_bytes(content)
            place.chmod(node.mode)


def _flush(line: str) -> Flush:
    number, kind, inode, birth, path = line.split(" ", 4)
    return Flush(int(number), kind == "D", Inode(int(inode), int(birth)), Path(path))


def _nodes(raw: bytes) -> Iterator[Node]:
    at = 0
    while at < len(raw):
        end = raw.index(b"\0", at)
        kind, inode, birth, mode, length, path = raw[at:end].split(b" ", 5)
        at = end + 1 + int(length)
        content = raw[end + 1 : at]
        yield Node(
            Path(os.fsdecode(path)), kind.decode(), Inode(int(inode), int(birth)), int(mode, 8), content
        )
