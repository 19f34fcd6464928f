"""Which folder a run made for itself, and what was saved of it before anything was rebuilt or removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from autopilot.schemas.records import EpochMs, Record, Sha, Sha256

MAX_NAMED = 200


class WorktreeRecord(Record):
    """Written beside a run when its worktree was made; device, inode and birth tell if a folder is it."""

    record_version: Literal[1] = 1
    run_id: str
    ticket_id: str
    repo: str = Field(description="the operator's name of the repository")
    path: Path = Field(description="where it was made; it may have been moved aside since")
    device: int
    inode: int
    born_ns: int | None = Field(
        default=None, description="when it was made, where the disk tells (UTC epoch)"
    )
    base: str
    base_sha: Sha
    uses_lfs: bool = Field(default=False, description="its files come through git-lfs")
    created_ms: EpochMs


class Salvage(Record):
    """What a worktree held, saved outside of every repository and read back once.

    `head` is a commit on top of `base_sha`, whose tree is the files as they were; None when they were the
    base's. The commits that the agent made by itself stand beside it.
    """

    record_version: Literal[1] = 1
    run_id: str
    ticket_id: str
    reason: str
    base: str
    base_sha: Sha
    tree: Sha
    head: Sha | None
    ref: str | None = Field(description="the rescue ref in the bundle and in the run's rescue.git")
    agent_commits: tuple[Sha, ...] = ()
    files: tuple[str, ...] = Field(default=(), max_length=MAX_NAMED, description="changed, the first of them")
    changed_files: Annotated[int, Field(ge=0)] = 0
    left_out: tuple[str, ...] = Field(
        default=(), max_length=MAX_NAMED, description="ignored by the repository's own rules, not saved"
    )
    unsaved: tuple[str, ...] = Field(
        default=(), max_length=MAX_NAMED, description="what could not be saved, and why; it stays where it is"
    )
    bundle: Path | None = Field(default=None, description="read it with: git fetch BUNDLE 'refs/*:refs/*'")
    bundle_sha256: Sha256 | None = None
    patch: Path | None = Field(default=None, description="apply it to base_sha with: git apply --binary")
    notes: tuple[str, ...] = ()
    created_ms: EpochMs

    @property
    def is_empty(self) -> bool:
        """Tell whether there was nothing to save: the files were the base's, and nobody had committed."""
        return self.head is None and not self.agent_commits
