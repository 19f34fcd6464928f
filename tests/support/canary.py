"""Secrets that every run and every story is given, and that nothing of what it leaves may hold.

They have no form that anything would recognise: what shows up anywhere has leaked, and was not cleaned away.
Looked through are files of any size, compressed ones unpacked, the rows of databases, every object of every
git repository and bundle, and command lines, those of the whole story where `watched` is around it.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import sqlite3
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import psutil

from tests.support.gitcmd import git_binary, git_environment

WORD: Final = "canary".upper() + "qzxv" + "7k2m"
# Credentials of the person, by the names that tools use; an ordinary name; and what every child inherits.
ENVIRONMENT: Final[Mapping[str, str]] = {
    "GITHUB_TOKEN": f"{WORD}-forge",
    "AWS_SECRET_ACCESS_KEY": f"{WORD}-cloud",
    "NPM_TOKEN": f"{WORD}-registry",
    "SSH_AUTH_SOCK": f"/nowhere/{WORD}-agent.sock",
    "DATABASE_URL": f"postgres://app:{WORD}@db.example/app",
    "ANTHROPIC_AUTH_TOKEN_OF_SOMEBODY_ELSE": f"{WORD}-model",
    "FLAVOUR_OF_THE_PERSON": f"{WORD}-plain",
    "LC_TOKEN": f"{WORD}-inherited",
}
_PIECE: Final = 1024 * 1024
_LOOK_S: Final = 0.25
_SQLITE: Final = b"SQLite format 3\0"
_BUNDLE: Final = b"# v"


def assert_unseen(*folders: Path, also: Iterable[str] = ()) -> None:
    """No file, no row, no git object below these folders and no command line holds a canary.

    Args:
        folders: what a test has left.
        also: more values that nobody may see.
    """
    needles = tuple(word.encode() for word in (WORD, *also))
    found = [place for folder in folders for place in _holders(folder, needles)]
    assert not found, f"a secret of the person's environment stands in: {found}"
    shown = [pid for pid, words in _command_lines() if _holds(words, needles)]
    assert not shown, f"a secret of the person's environment is an argument of: {shown}"


def holds(text: str, also: Iterable[str] = ()) -> bool:
    """Tell whether a text holds a canary, or one of these values."""
    return any(word in text for word in (WORD, *also))


@contextmanager
def watched(*also: str) -> Iterator[set[str]]:
    """Look at every command line of this machine, again and again; give those that hold a secret."""
    needles = tuple(word.encode() for word in (WORD, *also))
    is_over, seen = threading.Event(), set[str]()

    def look() -> None:
        while not is_over.is_set():
            seen.update(
                words.decode(errors="replace") for _, words in _command_lines() if _holds(words, needles)
            )
            is_over.wait(_LOOK_S)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        is_over.set()
        watcher.join()
    assert not seen, f"a secret of the person's environment was an argument of: {seen}"


def _command_lines() -> Iterator[tuple[int, bytes]]:
    for pid in psutil.pids():
        try:
            yield pid, Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            with contextlib.suppress(psutil.Error, OSError):  # no /proc here, or the process is gone
                yield pid, "\0".join(psutil.Process(pid).cmdline()).encode(errors="replace")


def _holds(data: bytes, needles: Iterable[bytes]) -> bool:
    return any(needle in data for needle in needles)


def _holders(folder: Path, needles: tuple[bytes, ...]) -> Iterator[str]:
    for path in _below(folder):
        try:
            if path.is_symlink() or not path.is_file():
                if path.is_dir() and _is_repository(path) and _holds_packed(path, needles):
                    yield f"{path} (packed)"
                continue
            if _file_holds(path, needles, folder):
                yield str(path)
        except OSError:  # a daemon of the story may still be tidying up
            continue


def _below(folder: Path) -> Iterator[Path]:
    """Go through all below a folder, a link as a link: `rglob` of Python 3.11.2 breaks at an odd target."""
    left = [folder]
    while left:
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:  # as with a file: tidied up
            for entry in entries:
                yield Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))


def _past_holes(number: int) -> bool:
    """Go to where the file has bytes again: a hole may be a tebibyte long. False where there are none."""
    here = os.lseek(number, 0, os.SEEK_CUR)
    try:
        os.lseek(number, here, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return False
        os.lseek(number, here, os.SEEK_SET)  # no such question here
    return True


def _file_holds(path: Path, needles: tuple[bytes, ...], folder: Path) -> bool:
    with path.open("rb", buffering=0) as file:
        head = file.read(_PIECE)
        if head.startswith(_SQLITE) and _rows_hold(path, needles):
            return True
        if head.startswith(_BUNDLE) and b"git bundle" in head[:32]:
            return _bundle_holds(path, needles, folder)
        if path.parent.parent.name == "objects" and head[:1] == b"x":
            head = _inflated(head)
        if path.suffix == ".gz":
            with contextlib.suppress(OSError, EOFError):
                return _holds(gzip.decompress(path.read_bytes()), needles)
        rest = head
        longest = max(map(len, needles))
        while rest:
            if _holds(rest, needles):
                return True
            piece = file.read(_PIECE) if _past_holes(file.fileno()) else b""
            rest = rest[-longest:] + piece if piece else b""
    return False


def _rows_hold(path: Path, needles: tuple[bytes, ...]) -> bool:
    """Read a database as SQL does: a long text is spread over pages, and may be parted there."""
    with contextlib.suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        db.text_factory = bytes
        tables = [
            row[0].decode() for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            for row in db.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - a name from the database itself
                if any(isinstance(value, bytes) and _holds(value, needles) for value in row):
                    return True
    return False


def _is_repository(folder: Path) -> bool:
    return (folder / "objects" / "pack").is_dir() and any((folder / "objects" / "pack").glob("*.pack"))


def _holds_packed(repository: Path, needles: tuple[bytes, ...]) -> bool:
    """Let git unpack every object of a repository; one that is damaged on purpose tells what it can."""
    listed = subprocess.run(
        [git_binary(), "cat-file", "--batch-all-objects", "--unordered", "--batch"],
        env={**git_environment(), "GIT_DIR": str(repository), "GIT_NO_LAZY_FETCH": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return _holds(listed.stdout, needles)


def _bundle_holds(path: Path, needles: tuple[bytes, ...], folder: Path) -> bool:
    """Unpack a bundle, which builds on objects of the repositories beside it, and look at its own."""
    found = (each for each in _below(folder) if each.name == "objects")
    lenders = [objects for objects in found if (objects.parent / "HEAD").is_file()]
    lent = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(map(str, lenders))}
    _, _, pack = path.read_bytes().partition(b"\n\n")
    with tempfile.TemporaryDirectory() as place:
        for words, stdin in ((("init", "-q", "--bare", "."), b""), (("unpack-objects", "-q"), pack)):
            done = subprocess.run(
                [git_binary(), *words],
                cwd=place,
                env=git_environment() | lent,
                input=stdin,
                capture_output=True,
                check=False,
            )
        assert done.returncode == 0, f"{path} could not be looked through: {done.stderr!r}"
        loose = (each for each in Path(place, "objects").rglob("*") if each.is_file())
        return any(_file_holds(each, needles, folder) for each in loose)


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data)
    except zlib.error:
        return data
