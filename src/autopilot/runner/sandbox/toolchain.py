"""The folders without which the programs on PATH would not run: theirs, and what their links lead to.

Must not name a home, a folder in which tools, caches and secrets of a person lie side by side, or the whole
of a project whose programs are on PATH.
Must not fail over a folder that is closed to us, or a link that leads round.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import autopilot
from autopilot.config.environ import RUSTUP
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.runner.sandbox.system import is_system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_MOST_LINKS = 500
_MOST_STEPS = 40
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_PROGRAM_FOLDERS = frozenset({"bin", "sbin", "shims"})
_VENV = "pyvenv.cfg"
_VENV_BYTES = 64 * 1024
_MOST_BELOW = 200
_CHECKOUTS = (".git", ".hg", ".svn", ".jj")
_SIGNS_OF_A_PROJECT = (*_CHECKOUTS, ".env", ".envrc")
_MANAGERS = frozenset(
    {
        *(".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".plenv", ".phpenv", ".swiftenv", ".tfenv"),
        *(".asdf", ".fzf", ".linuxbrew", "homebrew"),
    }
)
_SIGNS_OF_A_PREFIX = ("lib", "lib64", "libexec", _VENV)
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
    """Finds what programs need. `sealed` is never shown, nor what holds it; `home` is the user's.

    Each is meant under its real name too: a home may be a link, or lie behind one, as in Fedora Atomic.
    """

    home: Path | None
    sealed: tuple[Path, ...] = ()
    homes: tuple[Path, ...] = field(init=False)
    closed: tuple[Path, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Look the real names up, once."""
        object.__setattr__(self, "homes", _with_real_names((self.home,) if self.home else ()))
        object.__setattr__(self, "closed", _with_real_names(self.sealed))

    def needed(
        self, path: str, programs: Iterable[str] = (), *, inside: Iterable[Path] = ()
    ) -> tuple[Path, ...]:
        """List files and folders outside of the system's own, each once, holders before what they hold.

        Args:
            path: a PATH.
            programs: absolute paths of programs that are started by them.
            inside: what the program may touch anyway. A link that lies in there was perhaps made by it or by
                another of the repository's: followed, it would show whatever it leads to.
        """
        foreign = [place for each in inside for place in (each, Path(os.path.realpath(each)))]
        found = {Path(autopilot.__file__).resolve().parent}
        found.update(self._of_program(Path(f"{sys.executable}")))  # what is ours inside needs it too
        for program in programs:
            found.update(self._of_program(Path(program)))
        for entry in map(Path, path.split(os.pathsep)):
            if not any(step.is_relative_to(each) for step in _steps(entry) for each in foreign):
                found.update((*self._of_folder(entry), *self._compilers(entry)))
        return tuple(sorted(each for each in found if not is_system(each)))

    def is_showable(self, place: Path) -> bool:
        """Tell whether a file or folder may be shown whole: by the name that is given and by its real one."""
        names = dict.fromkeys((f"{place}", os.path.realpath(place)))
        return all(self._is_showable(name.rstrip("/")) for name in names)

    def _is_showable(self, here: str) -> bool:
        """Judge a name by its words: each start asks this for hundreds."""
        if not here or any(_is_in(here, f"{each}") or _is_in(f"{each}", here) for each in self.closed):
            return False
        for home in self.homes:
            kept = (f"{home}", *(f"{home}/{name}" for name in (*_SHARED, *_SECRET)))
            if any(_is_in(each, here) for each in kept):
                return False
            if any(_is_in(here, f"{home}/{name}") for name in _SECRET):
                return False
        return True

    def _of_folder(self, folder: Path) -> Iterator[Path]:
        """Give what one entry of PATH needs; the system's own entries need nothing, its environments may."""
        if not folder.is_absolute() or not _is_there(folder, only=stat.S_ISDIR):
            return
        real = Path(os.path.realpath(folder))
        if is_system(folder) and not _is_there(real.parent / _VENV):
            return
        yield from self._installed(folder)
        if real != folder:
            yield from self._installed(real)
        yield from self._base_of(real)
        for link in islice(_listed(real, links=True), _MOST_LINKS):
            yield from self._of_program(link)

    def _compilers(self, folder: Path) -> Iterator[Path]:
        """Give where the person's rustup keeps what it starts, if a folder of PATH has one."""
        place = self.home / RUSTUP[1] if self.home is not None and _is_there(folder / "rustup") else None
        if place is not None and _is_there(place) and self.is_showable(place):
            yield place

    def _of_program(self, program: Path) -> Iterator[Path]:
        """Give what a program needs: each link on the way to it, and the Python behind an environment."""
        for step in _steps(program):
            yield from self._installed(step.parent, step)
            yield from self._base_of(step.parent)

    def _base_of(self, folder: Path) -> Iterator[Path]:
        """Give what the Python needs that a virtual environment was made from: a copied one links to nothing.

        Not what that one was made from in its turn: `home` names no environment, and a ring has no end.
        Source: Python's `venv` and `site`: `home` in pyvenv.cfg is the folder of that Python's program.
        """
        home = _home_in(folder.parent / _VENV)
        if home is None or home.name not in _PROGRAM_FOLDERS:
            return
        for program in (each for each in _listed(home) if _PYTHON.fullmatch(each.name)):
            for step in _steps(program):
                yield from self._installed(step.parent, step)

    def _installed(self, folder: Path, file: Path | None = None) -> Iterator[Path]:
        """Give the installation that a folder of programs belongs to, else the folder, else the file."""
        prefix = folder.parent
        is_whole = folder.name in _PROGRAM_FOLDERS and any(
            _is_there(prefix / sign) for sign in _SIGNS_OF_A_PREFIX
        )
        if is_whole and is_project(prefix):
            parts = [folder, *(prefix / sign for sign in _SIGNS_OF_A_PREFIX)]
            yield from (each for each in parts if self.is_showable(each) and _is_there(each))
            return
        if not is_whole and is_project(folder):
            files = _programs(folder) if file is None else [file]
            yield from (each for each in files if self.is_showable(each) and _is_there(each))
            return
        choices = (prefix if is_whole else None, folder, file)
        first = next((each for each in choices if each and self.is_showable(each)), None)
        if first is not None and _is_there(first):
            yield first


def _with_real_names(places: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(name for each in places for name in (each, Path(os.path.realpath(each)))))


def is_project(place: Path) -> bool:
    """Tell whether somebody works here, or keeps such places here, so that more lies in it than programs.

    Managers of versions are check-outs of themselves, and their programs need all of it.
    """
    if place.name in _MANAGERS:
        return False
    if any(_is_there(place / sign) for sign in _SIGNS_OF_A_PROJECT):
        return True
    below = islice(_listed(place), _MOST_BELOW)
    return any(_is_there(each / sign) for each in below for sign in _CHECKOUTS)


def _programs(folder: Path) -> Iterator[Path]:
    for each in islice(_listed(folder), _MOST_LINKS):
        if _is_there(each, only=stat.S_ISREG) and os.access(each, os.X_OK):
            yield each


def _is_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder}/")


def _steps(program: Path) -> Iterator[Path]:
    """Follow the links of a program, and at last those of its folder."""
    for _ in range(_MOST_STEPS):
        yield program
        try:
            program = Path(os.path.normpath(program.parent / program.readlink()))
        except OSError:
            break
    if (real := Path(os.path.realpath(program))) != program:
        yield real


def _home_in(settings: Path) -> Path | None:
    """Read which folder a virtual environment names as that of its Python."""
    try:
        lines = read_plain(settings, max_bytes=_VENV_BYTES).decode("utf-8", "replace").splitlines()
    except UnreadableError:
        return None
    pairs = (line.partition("=") for line in lines)
    named = [value.strip() for key, _, value in pairs if key.strip().lower() == "home"]
    return Path(named[0]) if named and named[0].startswith("/") and "\0" not in named[0] else None


def _is_there(place: Path, *, only: Callable[[int], bool] | None = None) -> bool:
    """Tell whether we can reach it; `Path.exists` raises where a folder is closed to us."""
    try:
        mode = place.stat().st_mode
    except OSError:
        return False
    return only is None or only(mode)


def _listed(folder: Path, *, links: bool = False) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_symlink() or not links)
    except OSError:
        return []
