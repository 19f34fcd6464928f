"""Brings the real Claude Code client into a cache folder, once per machine and version.

The version is exact: a plain install falls back to an older one on older Node, and the
two differ in events, in the meaning of cost, and in flags. Install scripts do not run;
the client is the native program that the package for this platform brings.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.tree import ROOT

PACKAGE: Final = "@anthropic-ai/claude-code"
VERSION: Final = "2.1.332"
INSTALL_TIMEOUT_S: Final = 240.0
VERSION_TIMEOUT_S: Final = 60.0


class ClaudeUnavailableError(Exception):
    """The package cannot be installed here; the text says why, in one line."""


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/autopilot-tests`, else `.cache/` of this checkout."""
    cache_home = os.environ.get("XDG_CACHE_HOME")
    return Path(cache_home) / "autopilot-tests" if cache_home else ROOT / ".cache"


def claude_binary(cache: Path | None = None) -> Path:
    """The client's native program, installed when it is not there yet.

    Several test processes may ask at once: one installs, the others wait for its lock.

    Raises:
        ClaudeUnavailableError: npm is missing, or the registry could not be reached.
    """
    folder = cache or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / f"claude-code-{VERSION}"
    with _lock(folder / f"claude-code-{VERSION}.lock"):
        if not home.exists():
            _install(home)
        return _working_program(home)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _install(home: Path) -> None:
    """Install beside the final folder and rename, so that half an install is never used."""
    npm = shutil.which("npm")
    if npm is None:
        raise ClaudeUnavailableError("npm is not on PATH (Debian: apt-get install npm)")
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="npm-") as scratch:
        prefix = Path(scratch, "prefix")
        argv = [
            npm,
            "install",
            "--fetch-retries=1",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--loglevel=error",
        ]
        try:
            done = subprocess.run(
                [*argv, "--prefix", str(prefix), f"{PACKAGE}@{VERSION}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=INSTALL_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise ClaudeUnavailableError(f"npm took longer than {INSTALL_TIMEOUT_S:g} s") from late
        if done.returncode != 0:
            raise ClaudeUnavailableError(f"npm: {_first_line(done.stderr)}")
        prefix.rename(home)


def _working_program(home: Path) -> Path:
    """The program that runs on this platform: npm may bring one per C library."""
    found = sorted(home.glob(f"node_modules/{PACKAGE}-*/claude"))
    for program in found:
        try:
            said = subprocess.run(
                [program, "--version"],
                env={"PATH": os.defpath, "HOME": os.devnull},
                capture_output=True,
                text=True,
                timeout=VERSION_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if said.stdout.startswith(VERSION):
            return program
    raise ClaudeUnavailableError(f"none of {len(found)} installed programs runs here")


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "failed without a word"


def client_environment(model_url: str, home: Path) -> dict[str, str]:
    """The environment in which the client talks to a loopback model and to nothing else."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
