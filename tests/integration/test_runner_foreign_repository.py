"""What an agent makes of its own repository leads our git nowhere, and costs it little."""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git, GitError
from autopilot.runner.bundles import UnsavedError
from autopilot.runner.commit import keep_agents_commits
from autopilot.runner.owned import record_of
from autopilot.runner.salvage import Finding, salvage
from autopilot.schemas.run import AgentSpec, Outcome
from tests.support.desks import Desk, make_desk
from tests.support.gitcmd import git
from tests.support.repo_traps import write_script
from tests.support.repos import commit_files, make_repo
from tests.support.runs import OPEN, Host, run_here
from tests.support.small_project import small_repo

LINKED = """
R=$(git rev-parse --path-format=absolute --git-common-dir)
mkdir -p "$R/refs/tags"
ln -s {private}/refs/heads "$R/refs/heads/p"
ln -s {private}/refs/heads/main "$R/refs/tags/t"
for folder in {private}/objects/??; do
    name=$(basename "$folder")
    mv "$R/objects/$name" "$R/objects/old-$name" 2>/dev/null
    ln -s "$folder" "$R/objects/$name"
done
echo right > answer.txt
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path, make_repo(tmp_path / "theirs"))


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A repository of the person's that no configuration names."""
    place = tmp_path / "private"
    git(tmp_path, "init", "-q", "-b", "main", str(place))
    (place / "secret.py").write_text("UNPUSHED = 1\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Not for anybody")
    return place / ".git"


def tip(private: Path) -> str:
    return git(private, "rev-parse", "main")


def has(place: Path, sha: str) -> bool:
    return git(place, "cat-file", "--batch-check", stdin=f"{sha}\n".encode()).split()[-1] != "missing"


def linked_into(repository: Path, private: Path) -> None:
    """As LINKED does it, without a shell."""
    (repository / "refs/heads/p").symlink_to(private / "refs/heads")
    (repository / "refs/tags").mkdir(exist_ok=True)
    (repository / "refs/tags/t").symlink_to(private / "refs/heads/main")
    for folder in (private / "objects").iterdir():
        own = repository / "objects" / folder.name
        if folder.name != "info":
            if own.exists():
                own.rename(own.with_name(f"old-{own.name}"))
            own.symlink_to(folder)


def test_links_in_the_agents_repository_lead_to_no_repository_of_the_persons(
    desk: Desk, private: Path
) -> None:
    linked_into(desk.workspace.repository, private)
    kept = keep_agents_commits(desk.judge)
    assert kept.shas == ()
    assert {"refs/heads/p", "refs/tags/t", "objects/pack"} <= set(kept.links)
    assert not has(desk.judge.place, tip(private))


def test_a_link_in_place_of_a_whole_folder_of_it_leads_nowhere_either(desk: Desk, private: Path) -> None:
    for name in ("refs", "objects"):
        (desk.workspace.repository / name).rename(desk.workspace.repository / f"old-{name}")
        (desk.workspace.repository / name).symlink_to(private / name)
    kept = keep_agents_commits(desk.judge)
    assert (kept.shas, kept.links) == ((), ("objects", "refs"))
    assert not has(desk.judge.place, tip(private))


@pytest.mark.field_report("SEC-014")
def test_a_run_whose_agent_linked_out_of_its_repository_counts_for_nothing(
    tmp_path: Path, private: Path
) -> None:
    host, repo = Host(tmp_path / "state"), small_repo(tmp_path / "theirs")
    script = write_script(tmp_path / "agent", f"#!/bin/sh\n{LINKED.format(private=private)}")
    agent = AgentSpec(name="agent", kind="command", argv=("sh", str(script)))
    spec = host.spec(repo, agent, sandbox=OPEN)
    ended = run_here(spec)
    assert (ended.outcome, ended.code) == (Outcome.AGENT_FAILED, "repository-tampered")
    assert "refs/heads/p, a link" in ended.message
    assert not has(spec.run_dir / "judge.git", tip(private))
    second = host.spec(repo, host.agent([{"say": "hello"}]), attempt=2, sandbox=OPEN)
    run_here(second)
    assert not has(second.run_dir / "repo.git", tip(private))
    assert not has(spec.run_dir / "rescue.git", tip(private))


def finding(host: Host, desk: Desk) -> Finding:
    spec = host.spec(desk.repo)
    record = record_of(spec.run_dir)
    assert record is not None
    place = host.state / "salvage" / "T-1"
    return Finding(record, spec.worktree, spec.run_dir, spec.repo.mirror, place, "the test wants it")


def test_work_is_saved_from_a_repository_with_links_and_pipes_in_it(desk: Desk, private: Path) -> None:
    sha = commit_files(desk.workspace.repository, "mine", {"f": "x"})
    (desk.workspace.repository / "refs/heads/p").symlink_to(private / "refs/heads")
    os.mkfifo(desk.workspace.repository / "refs/heads/pipe")
    saved = salvage(desk.host.git, finding(desk.host, desk))
    assert saved.agent_commits == (sha,)
    assert "refs/heads/p, refs/heads/pipe" in saved.notes[0]


def test_a_submodules_link_to_a_repository_elsewhere_is_not_followed(tmp_path: Path, private: Path) -> None:
    inner, repo = make_repo(tmp_path / "inner"), make_repo(tmp_path / "theirs")
    git(repo.checkout, "submodule", "add", "-q", inner.url, "vendor")
    git(repo.checkout, "commit", "-q", "-m", "A submodule")
    git(repo.checkout, "push", "-q", "origin", "HEAD:main")
    desk = make_desk(tmp_path, repo)
    git(desk.tree, "submodule", "update", "-q", "--init")
    (desk.tree / "vendor/.git").write_text(f"gitdir: {private}\n")
    with pytest.raises(UnsavedError, match="a folder whose repository cannot be found"):
        salvage(desk.host.git, finding(desk.host, desk))
    (desk.tree / "vendor/.git").write_text(f"gitdir: {desk.workspace.admin}/modules/vendor\n")
    (desk.workspace.admin / "modules/vendor/refs/heads/p").symlink_to(private / "refs/heads")
    with pytest.raises(UnsavedError, match="no plain file for refs/heads/p"):
        salvage(desk.host.git, finding(desk.host, desk))
    assert salvage(desk.host.git, replace(finding(desk.host, desk), folder=None)).is_empty


def test_a_link_in_the_place_of_submodules_is_not_walked(desk: Desk, private: Path) -> None:
    (desk.workspace.admin / "modules").symlink_to(private.parent.parent)
    (desk.workspace.repository / "modules").symlink_to(private.parent.parent)
    bare = private.parent.parent / "bare"
    git(bare.parent, "clone", "-q", "--bare", str(private), str(bare))
    assert salvage(desk.host.git, replace(finding(desk.host, desk), folder=None)).is_empty


def test_a_pipe_among_the_references_keeps_nobody_waiting_and_costs_no_commit(desk: Desk) -> None:
    sha = commit_files(desk.workspace.repository, "mine", {"f": "x"})
    os.mkfifo(desk.workspace.repository / "refs/heads/pipe")
    os.mkfifo(desk.workspace.repository / f"objects/pack/pack-{'0' * 40}.idx")
    kept = keep_agents_commits(replace(desk.judge, git=replace(desk.host.git, timeout_s=20)))
    assert (kept.shas, kept.notes) == ((sha,), ())
    assert set(kept.others) == {"refs/heads/pipe", f"objects/pack/pack-{'0' * 40}.idx"}


def test_a_flood_of_references_costs_no_git_for_each(desk: Desk, tmp_path: Path) -> None:
    base = desk.repo.base_sha
    lines = [
        f"commit refs/heads/n{number}\ncommitter a <b> {number} +0000\ndata 1\nx\nfrom {base}\n\n"
        for number in range(400)
    ]
    git(desk.workspace.repository, "fast-import", "--quiet", stdin="".join(lines).encode())
    log = tmp_path / "started"
    counting = write_script(
        tmp_path / "bin" / "git",
        f'#!/bin/sh\necho >> {log}\nPATH=${{PATH#*:}}\nexec git "$@"\n',
    )
    path = f"{counting.parent}{os.pathsep}{os.environ['PATH']}"
    counted = replace(desk.host.git, base={**os.environ, "PATH": path})
    kept = keep_agents_commits(replace(desk.judge, git=counted))
    assert len(kept.shas) == 50
    assert kept.notes == ("350 more commits of the agent are only in its own repository",)
    assert len(log.read_text().splitlines()) < 70


def giant_commit(repository: Path, tree: str, size: int) -> str:
    """Write a commit with a message of so many bytes, which takes a thousandth of that on the disk."""
    body = f"tree {tree}\nauthor a <b> 1 +0000\ncommitter a <b> 1 +0000\n\n".encode() + b"x" * size
    raw = b"commit %d\0" % len(body) + body
    sha = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    place = repository / "objects" / sha[:2]
    place.mkdir(exist_ok=True)
    (place / sha[2:]).write_bytes(zlib.compress(raw))
    (repository / "refs/heads/big").write_text(f"{sha}\n")
    return sha


def test_a_giant_commit_is_told_by_its_first_bytes_and_never_read(desk: Desk) -> None:
    tree = git(desk.workspace.repository, "rev-parse", f"{desk.repo.base_sha}^{{tree}}")
    sha = giant_commit(desk.workspace.repository, tree, 6 << 20)
    kept = keep_agents_commits(desk.judge)
    assert kept.shas == ()
    assert kept.notes == (
        f"the agent's repository cannot be read: the commit {sha[:12]} has 6 MiB, and only 4 are read",
    )
    assert not has(desk.judge.place, sha)


@pytest.mark.needs(binary="prlimit", apt="util-linux")
def test_a_git_with_a_limit_of_memory_is_refused_more_by_the_kernel(tmp_path: Path) -> None:
    content = b"x" * (96 << 20)
    free = Git(SystemClock(), tmp_path / "free")
    assert free.run("stripspace", stdin=content)
    bound = Git(SystemClock(), tmp_path / "bound", memory_bytes=64 << 20)
    with pytest.raises(GitError, match="git-memory"):
        bound.run("stripspace", stdin=content)
