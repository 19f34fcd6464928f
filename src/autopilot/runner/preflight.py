"""What would go wrong later, asked before an agent is paid: the branch's name, and git-lfs.

Must not write anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.failure import RunFailure
from autopilot.schemas.ids import is_protected_branch, ref_name_fault
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from autopilot.config.git import Git

_LFS_LINE = r"^[[:space:]]*[^#[:space:]].*[[:space:]]filter=lfs([[:space:]]|$)"


def check_branch(branch: str, existing: Iterable[str]) -> None:
    """Refuse a branch name that a remote or a disk that folds case cannot hold beside the others.

    The name itself may exist: what stands on it is the publisher's to judge.

    Raises:
        RunFailure: the name is no branch name, is protected, or is in the way of another; configuration.
    """
    if fault := ref_name_fault(branch):
        raise _refused(f"the branch {branch!r} {fault}")
    if is_protected_branch(branch):
        raise _refused(f"the branch {branch!r} is protected")
    for other in existing:
        if fault := name_conflict(branch, other):
            raise _refused(f"the branch {branch!r} {fault} the remote's {other!r}")


def name_conflict(ours: str, other: str) -> str | None:
    """Say in which way two branch names cannot stand side by side, or None where they can.

    On a disk that folds case `AutoPilot/x` and `autopilot/y` share a folder, and `a` and `a/b` can nowhere
    stand side by side. Source: git-check-ref-format(1).
    """
    mine, theirs = ours.split("/"), other.split("/")
    for depth, (own, foreign) in enumerate(zip(mine, theirs, strict=False), start=1):
        if own.casefold() != foreign.casefold():
            return None
        if own != foreign:
            return "differs only in case from"
        if depth in {len(mine), len(theirs)} and len(mine) != len(theirs):
            return (
                "needs a folder where stands" if len(theirs) < len(mine) else "stands where is a folder for"
            )
    return None


def uses_lfs(git: Git, git_dir: Path, sha: str) -> bool:
    """Tell whether a commit's attributes send files through git-lfs."""
    return git.check(
        *("grep", "--quiet", "-I", "-E", "-e", _LFS_LINE, sha, "--", ":(glob)**/.gitattributes"),
        git_dir=git_dir,
        env={"GIT_LITERAL_PATHSPECS": "0"},
    )


def check_lfs(*, is_used: bool, program: str | None, policy: str) -> tuple[str, ...]:
    """Decide what to do about files that only git-lfs can bring.

    Args:
        is_used: the base commit has such files.
        program: where git-lfs is, or None when this machine has none.
        policy: `require` or `skip`, from the repository's policy.

    Returns:
        Warnings for the result.

    Raises:
        RunFailure: it is needed and not there; configuration.
    """
    if not is_used:
        return ()
    if policy == "skip":
        return ('git-lfs files are left as pointers (lfs = "skip"): tests that read them prove less',)
    if program is None:
        hint = 'install git-lfs where the daemon finds it, or set lfs = "skip" in .autopilot.toml'
        raise RunFailure(Outcome.CONFIGURATION, "git-lfs-missing", "the repository needs git-lfs", hint=hint)
    return ()


def _refused(what: str) -> RunFailure:
    hint = "rename or delete that branch, or give the ticket another title"
    return RunFailure(Outcome.CONFIGURATION, "branch-name-refused", what, hint=hint)
