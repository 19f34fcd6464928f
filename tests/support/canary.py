"""Secrets that every run and every story is given, and that nothing of what it leaves may hold.

They have no form that anything would recognise: what shows up anywhere has leaked, and was not cleaned away.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import psutil

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
_NEEDLE: Final = WORD.encode()
_MAX_BYTES: Final = 16 * 1024 * 1024


def assert_unseen(*folders: Path) -> None:
    """No file below these folders, no git object and no command line on this machine holds a canary."""
    found = [str(path) for folder in folders for path in _holders(folder)]
    assert not found, f"a secret of the person's environment stands in: {found}"
    shown = [process.pid for process in psutil.process_iter(["cmdline"]) if _is_shown(process)]
    assert not shown, f"a secret of the person's environment is an argument of: {shown}"


def _is_shown(process: psutil.Process) -> bool:
    return any(WORD in word for word in process.info["cmdline"] or ())


def _holders(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        try:
            if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_BYTES:
                continue
            data = path.read_bytes()
        except OSError:  # a daemon of the story may still be tidying up
            continue
        if path.parent.parent.name == "objects" and data[:1] == b"x":
            data = _inflated(data)
        if _NEEDLE in data:
            yield path


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return data
