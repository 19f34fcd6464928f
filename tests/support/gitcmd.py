"""Runs git for the tests, shut off from the machine's own git configuration.

It never reads a global or system file, never runs a hook and never signs: a trap
that a test sets for the product must not catch the test itself.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

AUTHOR_NAME: Final = "Test Author"
AUTHOR_EMAIL: Final = "author@example.invalid"
COMMIT_DATE: Final = "2026-01-02T03:04:05+0000"
COMMIT_EPOCH_S: Final = 1767323045
GIT_TIMEOUT_S: Final = 60.0
_OWN_CONFIG: Final = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("init.defaultBranch", "main"),
    ("protocol.file.allow", "always"),
    ("safe.directory", "*"),
    ("advice.detachedHead", "false"),
)


def git_environment(*, run_hooks: bool = False) -> dict[str, str]:
    """The environment of every git call of the tests: fixed identity, fixed dates.

    Args:
        run_hooks: let the repository's own hooks run, as its owner's server would.
    """
    config = [row for row in _OWN_CONFIG if not (run_hooks and row[0] == "core.hooksPath")]
    own = {"GIT_CONFIG_COUNT": str(len(config))}
    for index, (key, value) in enumerate(config):
        own[f"GIT_CONFIG_KEY_{index}"] = key
        own[f"GIT_CONFIG_VALUE_{index}"] = value
    return own | {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": AUTHOR_NAME,
        "GIT_AUTHOR_EMAIL": AUTHOR_EMAIL,
        "GIT_AUTHOR_DATE": COMMIT_DATE,
        "GIT_COMMITTER_NAME": AUTHOR_NAME,
        "GIT_COMMITTER_EMAIL": AUTHOR_EMAIL,
        "GIT_COMMITTER_DATE": COMMIT_DATE,
    }


def git_binary() -> str:
    """The path of git; the tests cannot do without it."""
    found = shutil.which("git")
    assert found, "the tests need git on PATH"
    return found


def git_bytes(cwd: Path, *args: str, stdin: bytes = b"", extra_env: dict[str, str] | None = None) -> bytes:
    """Run git in a directory and return its standard output.

    Raises:
        AssertionError: git ended with another code than 0; the text is its stderr.
    """
    done = subprocess.run(
        [git_binary(), *args],
        cwd=cwd,
        env=git_environment() | (extra_env or {}),
        input=stdin,
        capture_output=True,
        timeout=GIT_TIMEOUT_S,
        check=False,
    )
    detail = done.stderr.decode(errors="replace")
    assert done.returncode == 0, f"git {' '.join(args)} -> {done.returncode}\n{detail}"
    return done.stdout


def git(cwd: Path, *args: str, stdin: bytes = b"", extra_env: dict[str, str] | None = None) -> str:
    """Like `git_bytes`, as text without the last line end."""
    out = git_bytes(cwd, *args, stdin=stdin, extra_env=extra_env)
    return os.fsdecode(out).removesuffix("\n")


def has_ref(repository: Path, ref: str) -> bool:
    """Whether a full ref name exists, without resolving look-alikes."""
    listed = git(repository, "for-each-ref", "--format=%(refname)")
    return ref in listed.split("\n")
