"""Where the checkout is, what is in it, and one hash that stands for all of it."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tree_files(root: Path = ROOT) -> list[Path]:
    """Every file git tracks or would add, relative to the root, sorted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
        cwd=root,
        check=True,
        capture_output=True,
    )
    names = sorted(Path(name.decode()) for name in listed.stdout.split(b"\0") if name)
    return [name for name in names if (root / name).is_file()]


def tree_hash(root: Path = ROOT) -> str:
    """SHA-256 over the names and contents of all these files."""
    digest = hashlib.sha256()
    for name in tree_files(root):
        content = hashlib.sha256((root / name).read_bytes()).digest()
        digest.update(str(name).encode() + b"\0" + content)
    return digest.hexdigest()
