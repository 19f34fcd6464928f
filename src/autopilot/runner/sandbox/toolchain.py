"""The folders without which the programs on PATH would not run: theirs, and what their links lead to.

Must not name a home, or a folder in which tools, caches and secrets of a person lie side by side.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import autopilot
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.runner.sandbox.system import is_system

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_LINKS = 500
_MOST_STEPS = 40
_MAX_BYTES = 64 * 1024
_PROGRAM_FOLDERS = frozenset({"bin", "sbin", "shims"})
_SIGNS_OF_A_PREFIX = ("lib", "lib64", "libexec", "pyvenv.cfg")
# Below a home: key rings and sessions lie in these beside programs. What is in them may be shown, they not.
_SHARED = (
    *(".local", ".local/share", ".local/state", ".local/lib", ".config", ".cache", ".var", "snap"),
    *("Library", "Library/Application Support", "Documents", "Desktop", "Downloads", "src", "projects"),
)
_SECRET = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".password-store", ".mozilla"),
    *(".config/gh", ".config/gcloud", ".local/share/keyrings", ".git-credentials", ".pypirc", ".npmrc"),
    *(".claude", ".codex", ".gemini", ".cargo/credentials.toml", "Library/Keychains"),
)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Finds what programs need. `sealed` is never shown, nor what holds it; `home` is the user's."""

    home: Path | None
    sealed: tuple[Path, ...] = ()

    def needed(self, path: str, programs: Iterable[str] = ()) -> tuple[Path, ...]:
        """List files and folders outside of the system's own, each once, holders before what they hold.

        Args:
            path: a PATH.
            programs: absolute paths of programs that are started by them.
        """
        found = {Path(autopilot.__file__).resolve().parent}
        found.update(self._of_program(Path(f"{sys.executable}")))  # what is ours inside needs it too
        for program in programs:
            found.update(self._of_program(Path(program)))
        for entry in path.split(os.pathsep):
            found.update(self._of_folder(Path(entry)))
        return tuple(sorted(each for each in found if not is_system(each)))

    def is_showable(self, place: Path) -> bool:
        """Tell whether a file or folder may be shown whole."""
        if any(place.is_relative_to(each) or each.is_relative_to(place) for each in self.sealed):
            return False
        if place == Path("/") or self.home is None:
            return place != Path("/")
        kept = [self.home, *(self.home / name for name in (*_SHARED, *_SECRET))]
        if any(each.is_relative_to(place) for each in kept):
            return False
        return not any(place.is_relative_to(self.home / name) for name in _SECRET)

    def _of_folder(self, folder: Path) -> Iterator[Path]:
        """Give what one entry of PATH needs."""
        if not folder.is_absolute() or is_system(folder) or not folder.is_dir():
            return
        yield from self._installed(folder)
        if (real := folder.resolve()) != folder:
            yield from self._installed(real)
        links = (each for each in _listed(real) if each.is_symlink())
        for link in islice(links, _MOST_LINKS):
            yield from self._of_program(link)

    def _of_program(self, program: Path) -> Iterator[Path]:
        """Give what a program needs: the folders of each link on the way to it, and its own."""
        for _ in range(_MOST_STEPS):
            if is_system(program):
                return
            yield from self._installed(program.parent, program)
            if not program.is_symlink():
                break
            program = Path(os.path.normpath(program.parent / program.readlink()))
        real = program.resolve()
        if real != program and not is_system(real):
            yield from self._installed(real.parent, real)

    def _installed(self, folder: Path, file: Path | None = None, *, nested: int = 3) -> Iterator[Path]:
        """Give the installation that a folder of programs belongs to, else the folder, else the file."""
        prefix = folder.parent
        is_whole = folder.name in _PROGRAM_FOLDERS and any(
            (prefix / sign).exists() for sign in _SIGNS_OF_A_PREFIX
        )
        choices = (prefix if is_whole else None, folder, file)
        first = next((each for each in choices if each and self.is_showable(each)), None)
        if first is not None and first.exists():
            yield first
        if is_whole and nested and (base := _base_of(prefix)) is not None:
            for each in {base, base.resolve()}:
                if not is_system(each):
                    yield from self._installed(each, nested=nested - 1)


def _base_of(prefix: Path) -> Path | None:
    """Give the folder of the interpreter that a virtual environment copied, or links to. Source: PEP 405."""
    try:
        text = read_plain(prefix / "pyvenv.cfg", max_bytes=_MAX_BYTES).decode("utf-8", "replace")
    except UnreadableError:
        return None
    pairs = (line.partition("=") for line in text.splitlines())
    home = next((value.strip() for name, _, value in pairs if name.strip().lower() == "home"), "")
    base = Path(home)
    return base if base.is_absolute() and not prefix.is_relative_to(base.parent) else None


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
