"""A real file system of a few mebibytes that a test fills up, and makes read-only, while it is in use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_MIB = 1024 * 1024
_CHUNK = 4096
MAY_NOT = "needs Linux, and root or user namespaces (unshare -rm), to mount a small file system"


class SmallDisk:
    """A tmpfs, mounted as long as the test lasts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, *, leaving: int = 0) -> None:
        """Leave no byte free, or no more than so many."""
        with self._filler.open("ab", buffering=0) as file:
            while (free := self.free() - leaving) > 0:
                try:
                    file.write(b"\0" * max(_CHUNK, min(free, _MIB) // _CHUNK * _CHUNK))
                except OSError:
                    if not leaving:
                        break
                    raise

    def make_room(self) -> None:
        """Take away what filled it."""
        self._filler.unlink()

    def free(self) -> int:
        """The bytes that are left."""
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize

    def read_only(self, *, on: bool = True) -> None:
        """Let nobody write any more, whatever rights he has."""
        _run("mount", "-o", f"remount,{'ro' if on else 'rw'}", str(self.folder))


@contextmanager
def small_disk(folder: Path, *, size_mib: int) -> Iterator[SmallDisk]:
    """Mount one; it is gone afterwards, even when a process still has a file of it open."""
    folder.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={size_mib}m,mode=0700", "autopilot-test", str(folder))
    try:
        yield SmallDisk(folder)
    finally:
        _run("umount", "--lazy", str(folder))


@contextmanager
def seen_read_only(folder: Path) -> Iterator[None]:
    """Let nobody open anything in a folder for writing inside the block; what is open already stays so.

    A file system with open files cannot be made read-only from outside: the kernel refuses that.
    Source: mount(2), EBUSY of MS_REMOUNT.
    """
    _run("mount", "--bind", str(folder), str(folder))
    try:
        _run("mount", "-o", "remount,bind,ro", str(folder))
        yield
    finally:
        _run("umount", "--lazy", str(folder))  # what works in there keeps it busy until it ends


def may_mount() -> bool:
    """Tell whether this process may mount: as root of the machine or of a namespace of its own."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    return _works("unshare", "--mount", "true")


def may_enter_namespace() -> bool:
    """Tell whether a process of ours could become root of a namespace."""
    return sys.platform == "linux" and _works("unshare", "--map-root-user", "--mount", "true")


class InNamespace(pytest.Item):
    """The same test, run by a pytest of its own in a namespace where it may mount."""

    def runtest(self) -> None:
        words = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        done = subprocess.run(
            ["unshare", "--map-root-user", "--mount", *words, self.nodeid],
            cwd=self.config.rootpath,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.fail(done.stdout[-6000:] + done.stderr[-2000:], pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


def _works(*words: str) -> bool:
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
