"""A repository of ours with the objects and names of one that an agent wrote: what our git reads instead.

Must not let git look into the other: it would follow links out of it, and wait on pipes. Only plain files
are taken, by handles, folder by folder. Source: gitrepository-layout(5); docs/decisions/0156.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.rights import open_below, open_folder
from autopilot.runner.changes import shown_path
from autopilot.runner.places import borrow, make_bare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autopilot.config.git import Git

_MAX_NAMES, _MAX_FILES = 10_000, 500_000
_MAX_DEPTH = 40
_MAX_NAME_BYTES = 4096
_MAX_PACKED_BYTES = 64 * 1024 * 1024
_MAX_COPIED_BYTES = 1 << 30
_MAX_BYTES: Mapping[bytes, int] = {b"blob": 512 << 20, b"tree": 64 << 20, b"commit": 4 << 20, b"tag": 4 << 20}
"""Of one object, unpacked: a file of three megabytes becomes gigabytes in the memory of git."""
_OBJECT = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]+\.(?:pack|idx)")
SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEAD = re.compile(rf"ref: refs/[^\s\0]+|{SHA.pattern}")
_NOT_TAKEN: Mapping[str, tuple[str, ...]] = {"objects": ("info",), "refs": ("replace",)}
NO_LINK = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES, errno.ENOSYS})
_TOLD = 5


class ForeignError(Exception):
    """A repository that somebody else wrote cannot be taken over; the text says why."""


@dataclass(frozen=True, slots=True)
class Replica:
    """Where it is. `links` lead out of the original, `others` are pipes and the like: both stay behind."""

    place: Path
    links: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def named(self, git: Git) -> dict[str, str]:
        """Give what its references name.

        Raises:
            GitError: they cannot be read.
        """
        out = git.run("for-each-ref", "--format=%(objectname) %(refname)", git_dir=self.place)
        pairs = (line.partition(" ") for line in os.fsdecode(out).splitlines())
        return {name: sha for sha, _, name in pairs}

    def head(self, named: Mapping[str, str]) -> set[str]:
        """Give what its HEAD names, beside its references."""
        text = os.fsdecode(read_plain(self.place / "HEAD", max_bytes=_MAX_NAME_BYTES)).strip()
        sha = named.get(text.removeprefix("ref: "), text)
        return {sha} if SHA.fullmatch(sha) else set()


def replicate(git: Git, top: Path, *names: str, place: Path, mirror: Path, sha: str) -> Replica:
    """Take a repository over into a new one of ours, which borrows the mirror's objects.

    Files are linked, not copied, where the disk can do that.

    Args:
        git: ours.
        top: a folder of ours that nobody else can put a link for.
        names: the way from there to the repository; none of them may be a link.
        place: where the new one is made; it is not there yet.
        mirror: whose objects it borrows.
        sha: an object's name, for the format.

    Raises:
        ForeignError: it is no repository, or holds more than can be looked at.
        GitError, OSError: ours could not be made.
    """
    make_bare(git, place, sha=sha)
    try:
        with _opened(top, *names) as source:
            objects = _Haul("objects", _MAX_FILES, only=_OBJECT).take(source, place)
            refs = _Haul("refs", _MAX_NAMES, most_bytes=_MAX_NAME_BYTES).take(source, place)
    except OSError as exc:
        raise ForeignError(f"{exc.filename or names[-1]}: {exc.strerror}") from exc
    _take_lists(top.joinpath(*names), place)
    _refuse_giants(git, place)
    borrow(place, mirror=mirror)
    links, others = ((*refs.links, *objects.links), (*refs.others, *objects.others))
    return Replica(place, tuple(sorted(links)), tuple(sorted(others)))


@contextmanager
def _opened(top: Path, *names: str) -> Iterator[int]:
    handle = open_below(top, *names)
    try:
        yield handle
    finally:
        os.close(handle)


class _Haul:
    """What is taken from one folder of the original into the same folder of ours."""

    def __init__(
        self, kind: str, most: int, *, most_bytes: int | None = None, only: re.Pattern[str] | None = None
    ) -> None:
        self.kind, self.most, self.most_bytes, self.only = kind, most, most_bytes, only
        self.seen = self.copied_bytes = 0
        self.links: list[str] = []
        self.others: list[str] = []

    def take(self, source: int, place: Path) -> Self:
        """Take all that is there; a folder that is missing has nothing.

        Raises:
            ForeignError: it is too much, or too deep.
            OSError: it cannot be read, or ours not written.
        """
        status = _status(source, self.kind)
        if status is None:
            return self
        if not stat.S_ISDIR(status.st_mode):
            self._leave(self.kind, status)
            return self
        self._folder(source, self.kind, place / self.kind, within="", depth=0)
        return self

    def _folder(self, above: int, name: str, into: Path, *, within: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise ForeignError(f"its {self.kind} lie more than {_MAX_DEPTH} folders deep")
        into.mkdir(exist_ok=True)
        folder = open_folder(above, name)
        try:
            with os.scandir(folder) as entries:  # one after the other: there may be millions
                for each in entries:
                    self._entry(folder, each.name, into, within=f"{within}{each.name}", depth=depth)
        finally:
            os.close(folder)

    def _entry(self, folder: int, name: str, into: Path, *, within: str, depth: int) -> None:
        self.seen += 1
        if self.seen > self.most:
            raise ForeignError(f"it holds more than {self.most} {self.kind}")
        status = _status(folder, name)
        if status is None:
            return
        if stat.S_ISDIR(status.st_mode):
            if within not in _NOT_TAKEN.get(self.kind, ()):
                self._folder(folder, name, into / name, within=f"{within}/", depth=depth + 1)
        elif not stat.S_ISREG(status.st_mode) or status.st_size > (self.most_bytes or status.st_size):
            self._leave(f"{self.kind}/{within}", status)
        elif self.only is None or self.only.fullmatch(within):
            self._file(folder, name, into / name)

    def _leave(self, path: str, status: os.stat_result) -> None:
        told = self.links if stat.S_ISLNK(status.st_mode) else self.others
        if len(told) < _TOLD:
            told.append(shown_path(os.fsencode(path)))

    def _file(self, folder: int, name: str, to: Path) -> None:
        """Give a file a second name in our folder; what it was is asked there, where nobody can change it."""
        try:
            os.link(name, to, src_dir_fd=folder, follow_symlinks=False)
        except OSError as exc:
            if exc.errno not in NO_LINK:
                raise
            self._copy(folder, name, to)
            return
        status = to.lstat()
        if not stat.S_ISREG(status.st_mode):
            to.unlink()
        elif not status.st_mode & stat.S_IRUSR:
            to.chmod(stat.S_IMODE(status.st_mode) | stat.S_IRUSR)

    def _copy(self, folder: int, name: str, to: Path) -> None:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            self.copied_bytes += status.st_size
            if self.copied_bytes > _MAX_COPIED_BYTES:
                raise ForeignError(f"its {self.kind} are more than {_MAX_COPIED_BYTES >> 20} MiB")
            if stat.S_ISREG(status.st_mode):
                with to.open("xb") as copy:
                    shutil.copyfileobj(file, copy)


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _take_lists(source: Path, place: Path) -> None:
    """Take its packed references, where its history was cut, and what its HEAD names; each is plain data."""
    for name, most in (("packed-refs", _MAX_PACKED_BYTES), ("shallow", _MAX_PACKED_BYTES)):
        if os.path.lexists(source / name):
            (place / name).write_bytes(_plain(source / name, most))
    if os.path.lexists(source / "HEAD"):
        head = os.fsdecode(_plain(source / "HEAD", _MAX_NAME_BYTES)).strip()
        if _HEAD.fullmatch(head):
            (place / "HEAD").write_bytes(os.fsencode(head) + b"\n")


def _plain(path: Path, most: int) -> bytes:
    try:
        return read_plain(path, max_bytes=most)
    except UnreadableError as exc:
        raise ForeignError(f"{path.name}: {exc}") from exc


def _refuse_giants(git: Git, place: Path) -> None:
    """Ask for the size of each object of its own, which is in its first bytes, before any is read whole."""
    shown = "--batch-check=%(objecttype) %(objectsize) %(objectname)"
    for line in git.run("cat-file", "--batch-all-objects", "--unordered", shown, git_dir=place).splitlines():
        kind, _, rest = line.partition(b" ")
        size, _, name = rest.partition(b" ")
        most = _MAX_BYTES.get(kind)
        if most is not None and size.isdigit() and int(size) > most:
            told = f"the {kind.decode()} {name.decode()[:12]} has {int(size) >> 20} MiB"
            raise ForeignError(f"{told}, and only {most >> 20} are read")
