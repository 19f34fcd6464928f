"""Brings a real coding agent from npm into a cache folder, once per machine and version.

The version is exact. Install scripts do not run; the client is the native program that the package for this
platform brings.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.tree import ROOT

INSTALL_TIMEOUT_S: Final = 240.0
VERSION_TIMEOUT_S: Final = 60.0
_NPM_OPTIONS: Final = (
    *("--fetch-retries=1", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"),
)


class ClientUnavailableError(Exception):
    """The package cannot be installed here; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Client:
    """A coding agent on npm: `programs` is where its native programs lie, below the install folder."""

    label: str
    package: str
    version: str
    programs: str

    @property
    def title(self) -> str:
        """Its name with its version."""
        return f"{self.label} {self.version}"

    def binary(self, cache: Path | None = None) -> Path:
        """The client's native program, installed when it is not there yet.

        Several test processes may ask at once: one installs, the others wait for its lock.

        Raises:
            ClientUnavailableError: npm is missing, or the registry could not be reached.
        """
        folder = cache or cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{self.package.rpartition('/')[2]}-{self.version}"
        with _lock(folder / f"{name}.lock"):
            if not (folder / name).exists():
                _install(f"{self.package}@{self.version}", folder / name)
            return self._working_program(folder / name)

    def _working_program(self, home: Path) -> Path:
        """The program that runs on this platform: npm may bring one per C library."""
        found = sorted(home.glob(self.programs))
        for program in found:
            if self.version in (word.rstrip(".") for word in _said(program).split()):
                return program
        raise ClientUnavailableError(f"none of {len(found)} installed programs runs here")


def _said(program: Path) -> str:
    """What a program says to `--version`, in an empty home; nothing where it cannot run."""
    with tempfile.TemporaryDirectory() as empty:
        try:
            return subprocess.run(
                [program, "--version"],
                env={"PATH": os.defpath, "HOME": empty},
                capture_output=True,
                text=True,
                timeout=VERSION_TIMEOUT_S,
                check=False,
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/autopilot-tests`, else `.cache/` of this checkout."""
    cache_home = os.environ.get("XDG_CACHE_HOME")
    return Path(cache_home) / "autopilot-tests" if cache_home else ROOT / ".cache"


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _install(what: str, home: Path) -> None:
    """Install beside the final folder and rename, so that half an install is never used."""
    npm = shutil.which("npm")
    if npm is None:
        raise ClientUnavailableError("npm is not on PATH (Debian: apt-get install npm)")
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="npm-") as scratch:
        prefix = Path(scratch, "prefix")
        try:
            done = subprocess.run(
                [npm, "install", *_NPM_OPTIONS, "--prefix", str(prefix), what],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=INSTALL_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise ClientUnavailableError(f"npm took longer than {INSTALL_TIMEOUT_S:g} s") from late
        if done.returncode != 0:
            raise ClientUnavailableError(f"npm: {_first_line(done.stderr)}")
        prefix.rename(home)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "failed without a word"
