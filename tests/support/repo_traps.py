"""Things in a repository that bite an unattended git: hooks, signing, left-over locks.

Every trap leaves a mark when it springs, so that a test can tell "was not run" from
"was run and survived".
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.gitcmd import git

HOOK_NAMES: Final = (
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
)
FAIL: Final = "exit 1"
HANG: Final = "exec sleep 600"
SWITCH: Final = "unset $(git rev-parse --local-env-vars); git checkout -q main; exit 1"


@dataclass(frozen=True, slots=True)
class Trap:
    """A script that notes each of its runs in `mark`, one line each."""

    mark: Path

    def sprung(self) -> tuple[str, ...]:
        """What ran, in order; empty when the trap was never touched."""
        return tuple(self.mark.read_text().splitlines()) if self.mark.exists() else ()


def write_script(path: Path, body: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def set_hooks(repository: Path, mark: Path, *, then: str = FAIL) -> Trap:
    """Install every client hook; each notes its name and then fails, hangs or switches.

    Args:
        repository: a checkout or a bare repository.
        mark: the file that notes the runs.
        then: `FAIL`, `HANG`, `SWITCH`, or any shell text (GIT-017).
    """
    common = git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    for name in HOOK_NAMES:
        write_script(Path(common) / "hooks" / name, f'echo {name} >> "{mark}"\n{then}')
    return Trap(mark)


def set_tracked_hooks(repository: Path, mark: Path) -> Trap:
    """Point core.hooksPath at a folder inside the work tree, as husky does."""
    folder = repository / ".husky"
    for name in HOOK_NAMES:
        write_script(folder / name, f'echo {name} >> "{mark}"\nexit 1')
    git(repository, "config", "core.hooksPath", ".husky")
    return Trap(mark)


def set_signing(repository: Path, mark: Path, *, then: str = HANG) -> Trap:
    """Turn on commit and tag signing with a gpg that hangs or fails (GIT-016)."""
    common = git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    program = write_script(Path(common) / "trap-gpg", f'echo gpg >> "{mark}"\n{then}')
    for key in ("commit.gpgsign", "tag.gpgsign", "push.gpgSign"):
        git(repository, "config", key, "true")
    git(repository, "config", "gpg.program", str(program))
    return Trap(mark)


def set_config_commands(repository: Path, mark: Path) -> Trap:
    """Every configuration key through which git runs a program, all noting their run."""
    common = git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.askPass",
        "core.gitProxy",
        "credential.helper",
        "diff.external",
        "filter.trap.clean",
        "filter.trap.smudge",
        "sequence.editor",
        "uploadpack.packObjectsHook",
    ):
        program = write_script(Path(common) / f"trap-{key.lower()}", f'echo {key} >> "{mark}"\nexit 1')
        git(repository, "config", key, str(program))
    return Trap(mark)


def leave_lock(path: Path, *, age_s: int = 600) -> Path:
    """An empty lock file that a killed git left behind so many seconds ago (GIT-003)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    mtime_s = path.stat().st_mtime - age_s
    os.utime(path, (mtime_s, mtime_s))
    return path


def break_remote_ref(repository: Path, branch: str) -> Path:
    """Write an empty file over a remote-tracking ref of a clone (GIT-007)."""
    ref = git(repository, "rev-parse", "--git-path", f"refs/remotes/origin/{branch}")
    path = repository / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path
