"""Saves what a worktree holds, before anything is rebuilt over it or removed: bundle, patch and record.

Must not run git with the agent's configuration, or call something saved that was not read back. What cannot
be saved whole is an error: then the folder stays, and the rest is saved. Source: docs/decisions/0025, 0028.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.atomic import make_folder, sync_folder
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.config.paths import JUDGE_REPOSITORY
from autopilot.config.removal import remove_tree
from autopilot.runner.bundles import UnsavedError, is_whole, write_bundle, write_patch
from autopilot.runner.changes import scope_of, shown_path
from autopilot.runner.commit import AGENT_REFS, Kept, commit_tree, keep_agents_commits, left_behind, unknown
from autopilot.runner.failure import is_of_the_machine
from autopilot.runner.judge import Judge, Pristine, Snapshot
from autopilot.runner.locks import held
from autopilot.runner.outbox import write_record
from autopilot.runner.partly import copied
from autopilot.runner.sparse import absent_by_sparse_checkout
from autopilot.runner.submodules import unsaved_repositories, unsaved_submodules
from autopilot.runner.worktree import LFS_CONFIG, Workspace
from autopilot.schemas.run import Identity
from autopilot.schemas.salvage import MAX_NAMED, Salvage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.git import Git
    from autopilot.schemas.salvage import WorktreeRecord

RECORD = "salvage.json"
RESCUE_REPOSITORY = "rescue.git"
RESCUE_FILES = "rescue-files"
RESCUE_REFS = "refs/rescue/"
_BUNDLE, _PATCH = "work.bundle", "work.patch"
_LOCK_S = 600.0
_NO_PATCH = "no patch: it is too large or could not be written; the bundle holds all of it"
_MAX_RECORD_BYTES = 1024 * 1024
_NAME, _EMAIL = "autopilot", "autopilot@localhost"


@dataclass(frozen=True, slots=True)
class Finding:
    """A worktree to be saved: who made it, where it is now, and where everything else is.

    Without a folder, because it is gone, only commits are saved: the agent's own and those of our rounds.
    """

    record: WorktreeRecord
    folder: Path | None
    run_dir: Path
    mirror: Path
    place: Path
    """Folder of the ticket's salvages."""
    reason: str


def salvage(git: Git, finding: Finding) -> Salvage:
    """Save what a worktree holds.

    Twice the same is saved once: an earlier record of the same files is given back.

    Raises:
        UnsavedError: something in it could not be saved; its `rest` is the record of what could be.
        OSError: our own folders cannot be written.
    """
    make_folder(finding.place)
    with held(finding.place / ".lock", timeout_s=_LOCK_S, clock=git.clock):
        try:
            with _reading(finding):
                return _saved(git, finding)
        except UnsavedError as exc:
            exc.rest = _rest(git, finding)
            raise


def _rest(git: Git, finding: Finding) -> Salvage | None:
    try:
        with _reading(finding):
            return _saved(git, finding, in_part=True)
    except UnsavedError:
        return None  # why is told already, by the error that is under way


@contextmanager
def _reading(finding: Finding) -> Iterator[None]:
    try:
        yield
    except (GitError, OSError) as exc:
        if isinstance(exc, OSError) and is_of_the_machine(exc):
            raise
        why = exc.what if isinstance(exc, GitError) else str(exc)
        what = f"{finding.folder or finding.run_dir} could not be saved: {why}"
        raise UnsavedError("work-unsaved", what) from exc


def salvages(place: Path) -> tuple[Salvage, ...]:
    """Give what was saved of a ticket's worktrees, the oldest first; a damaged record is left out."""
    found = [read_salvage(path) for path in place.glob(f"*/{RECORD}") if not path.parent.name.startswith(".")]
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.created_ms))


def _saved(git: Git, finding: Finding, *, in_part: bool = False) -> Salvage:
    judge = _judge(git, finding)
    kept = keep_agents_commits(judge) if os.path.lexists(judge.workspace.repository) else Kept(())
    if kept.notes and not in_part:
        raise UnsavedError("work-unsaved", kept.notes[0])
    kept = replace(kept, shas=(*kept.shas, *_own_commits(judge, finding.run_dir / JUDGE_REPOSITORY)))
    if finding.folder is None:
        snapshot = _without_files(judge, in_part=in_part)
    else:
        snapshot = _in_part(judge, finding) if in_part else _snapshot(judge, finding)
    unsaved = (*kept.notes, *snapshot.notes) if in_part else ()
    mark = (finding.record.run_id, snapshot.tree, set(kept.shas), unsaved[:MAX_NAMED])
    for old in salvages(finding.place):
        if (old.run_id, old.tree, set(old.agent_commits), old.unsaved) == mark and is_whole(old):
            return old
    head = _head(judge, finding, snapshot.tree) if snapshot.is_changed else None
    return _write(judge, finding, _Found(snapshot.tree, head, kept, unsaved))


def _snapshot(judge: Judge, finding: Finding) -> Snapshot:
    snapshot = judge.snapshot(_pristine(judge), absent=absent_by_sparse_checkout(judge))
    if snapshot.problems:
        raise UnsavedError("work-unsaved", snapshot.problems[0])
    if faults := unsaved_submodules(judge, made_at=finding.record.path):
        raise UnsavedError("submodule-unsaved", faults[0])
    return snapshot


def _in_part(judge: Judge, finding: Finding) -> Snapshot:
    """Take what git can read; the notes name what it cannot."""
    pristine, absent = _pristine(judge), absent_by_sparse_checkout(judge)
    faults = unsaved_submodules(judge, made_at=finding.record.path)
    place = finding.run_dir / RESCUE_FILES
    with copied(judge.workspace.worktree, place, without=judge.gitlinks()) as copy:
        there = replace(judge, workspace=replace(judge.workspace, worktree=place))
        snapshot = there.all_that_can_be(pristine, absent=absent, left=copy.left)
    return replace(snapshot, notes=(*copy.told, *snapshot.notes, *faults))


def _without_files(judge: Judge, *, in_part: bool) -> Snapshot:
    faults = unsaved_repositories(judge)
    if faults and not in_part:
        raise UnsavedError("submodule-unsaved", faults[0])
    tree = judge.git.run("rev-parse", f"{judge.workspace.base_sha}^{{tree}}", git_dir=judge.place)
    return Snapshot(tree.decode().strip(), is_changed=False, notes=tuple(faults))


def _own_commits(judge: Judge, place: Path) -> list[str]:
    """Bring the commits of our own rounds here, which may never have been published."""
    if not place.is_dir() or place.is_symlink():
        return []
    listed = os.fsdecode(
        judge.git.run("ls-remote", "--refs", "--", str(place), "refs/heads/*", f"{AGENT_REFS}*")
    )
    shas = dict.fromkeys(line.partition("\t")[0] for line in listed.splitlines())
    wanted = unknown(judge, tuple(shas))
    for number, sha in enumerate(wanted, start=1):
        judge.git.run(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", str(place)),
            f"{sha}:{AGENT_REFS}round/{number}",
            git_dir=judge.place,
        )
    return wanted


def _judge(git: Git, finding: Finding) -> Judge:
    """Make a repository of ours for this alone; the base is asked of our own mirror."""
    record, repository = finding.record, finding.run_dir / "repo.git"
    admin = repository / "worktrees" / record.path.name
    folder = finding.folder or finding.run_dir / "no-worktree"
    workspace = Workspace(folder, repository, admin, b"", record.base_sha)
    filters = LFS_CONFIG if record.uses_lfs else {}
    git.run("cat-file", "-e", f"{record.base_sha}^{{commit}}", git_dir=finding.mirror)
    judge = Judge(git, finding.run_dir / RESCUE_REPOSITORY, finding.mirror, workspace, filters)
    judge.renew()
    return judge


def _pristine(judge: Judge) -> Pristine:
    """Build git's list from the base alone: without file times, so that every file is read."""
    judge.git.run("read-tree", judge.workspace.base_sha, git_dir=judge.place)
    staged = judge.git.lines_z("ls-files", "-z", "--stage", git_dir=judge.place)
    has_submodules = any(line.startswith(b"160000") for line in staged)
    return Pristine((judge.place / "index").read_bytes(), 0, {}, has_submodules=has_submodules)


def _head(judge: Judge, finding: Finding, tree: str) -> str:
    run_id = finding.record.run_id
    head = commit_tree(
        judge,
        tree=tree,
        branch=f"rescue/{run_id}",
        message=f"Work of {run_id}, saved as it was\n\n{finding.reason}\n",
        identity=Identity(name=_NAME, email=_EMAIL),
        now_ms=judge.git.clock.now_ms(),
    )
    judge.git.run("update-ref", f"{RESCUE_REFS}{run_id}", head, git_dir=judge.place)
    return head


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is to write down: a tree, its commit where it is not the base's, and what is not in it."""

    tree: str
    head: str | None
    kept: Kept
    unsaved: tuple[str, ...]


def _write(judge: Judge, finding: Finding, found: _Found) -> Salvage:
    """Put bundle and patch into a folder that appears whole, under its name, at the end."""
    record, git, head, kept = finding.record, judge.git, found.head, found.kept
    scope = scope_of(git, judge.place, base=record.base_sha, head=head) if head else ()
    with _folder(finding) as (making, final):
        digest = None
        if head or kept.shas:
            refs = (RESCUE_REFS, AGENT_REFS)
            digest = write_bundle(judge, making / _BUNDLE, refs, tree=found.tree, head=head)
        has_patch = head is not None and write_patch(judge, making / _PATCH, head)
        saved = Salvage(
            run_id=record.run_id,
            ticket_id=record.ticket_id,
            reason=finding.reason,
            base=record.base,
            base_sha=record.base_sha,
            tree=found.tree,
            head=head,
            ref=f"{RESCUE_REFS}{record.run_id}" if head else None,
            agent_commits=kept.shas,
            files=tuple(line.path for line in scope[:MAX_NAMED]),
            changed_files=len(scope),
            left_out=_left_out(judge) if finding.folder is not None and not found.unsaved else (),
            unsaved=found.unsaved[:MAX_NAMED],
            bundle=final / _BUNDLE if digest else None,
            bundle_sha256=digest,
            patch=final / _PATCH if has_patch else None,
            notes=(*left_behind(kept), *((_NO_PATCH,) if head and not has_patch else ())),
            created_ms=git.clock.now_ms(),
        )
        write_record(making / RECORD, saved)
    return saved


@contextmanager
def _folder(finding: Finding) -> Iterator[tuple[Path, Path]]:
    final, number = finding.place / finding.record.run_id, 1
    while final.exists():
        number += 1
        final = finding.place / f"{finding.record.run_id}-{number}"
    making = final.with_name(f".{final.name}.part")
    remove_tree(making)
    making.mkdir(mode=0o700)
    yield making, final
    sync_folder(making)
    making.rename(final)
    sync_folder(final.parent)


def _left_out(judge: Judge) -> tuple[str, ...]:
    """Name what the repository's own rules, or ours about droppings, leave out."""
    listed = judge.git.lines_z(
        *("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"),
        git_dir=judge.place,
        work_tree=judge.workspace.worktree,
        cwd=judge.workspace.worktree,
    )
    return tuple(shown_path(path) for path in listed[:MAX_NAMED])


def read_salvage(path: Path) -> Salvage | None:
    """Read a record; None where there is none, or it cannot be believed."""
    try:
        return Salvage.model_validate_json(read_plain(path, max_bytes=_MAX_RECORD_BYTES))
    except (UnreadableError, ValidationError):
        return None
