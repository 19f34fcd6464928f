"""What is refused before an agent is paid: branch names in the way, missing git-lfs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from autopilot.config.git import Git
from autopilot.runner.failure import RunFailure
from autopilot.runner.preflight import check_branch, check_lfs, name_conflict, uses_lfs
from autopilot.runner.remote import look_at
from autopilot.runner.worktree import LFS_CONFIG, cut
from autopilot.schemas.run import Outcome
from tests.support import repo_layouts, repo_traps
from tests.support.repos import Repo, commit_files, make_repo
from tests.support.runs import Host


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


@pytest.mark.field_report("GIT-029")
def test_a_repository_of_lfs_files_is_recognised_by_its_attributes(host: Host, tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "lfs",
        extra_files={
            "art/.gitattributes": "*.png -text\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "art/a.bin": "x",
        },
    )
    _, sha = host.fetch(host.spec(repo))
    mirror = host.spec(repo).repo.mirror
    assert uses_lfs(host.git, mirror, sha)
    plain = commit_files(repo.remote, "main", {"art/.gitattributes": "# *.bin filter=lfs\n*.x filter=lfsx\n"})
    host.fetch(host.spec(repo))
    assert not uses_lfs(host.git, mirror, plain)


@pytest.mark.field_report("GIT-029")
def test_lfs_without_its_program_is_refused_before_the_agent_is_paid_or_skipped_by_policy() -> None:
    with pytest.raises(RunFailure) as caught:
        check_lfs(is_used=True, program=None, policy="require")
    assert (caught.value.outcome, caught.value.code) == (Outcome.CONFIGURATION, "git-lfs-missing")
    assert 'lfs = "skip"' in caught.value.hint
    assert "prove less" in check_lfs(is_used=True, program=None, policy="skip")[0]
    assert check_lfs(is_used=True, program="/usr/bin/git-lfs", policy="require") == ()
    assert check_lfs(is_used=False, program=None, policy="require") == ()


FAIL_ON_THE_THIRD = """
count=$(cat "$0.count" 2>/dev/null || echo 0)
echo $((count + 1)) > "$0.count"
[ "$1" = smudge ] || exit 1
[ "$count" -lt 2 ] || { echo "batch response: rate limit" >&2; exit 2; }
cat
"""


@pytest.mark.field_report("GIT-029", "GIT-030")
@pytest.mark.parametrize(
    ("body", "says"),
    [(FAIL_ON_THE_THIRD, r"smudge (filter lfs|-- %f') failed"), (repo_traps.HANG, "took longer than 2 s")],
    ids=["fails", "waits"],
)
def test_a_failing_or_waiting_lfs_leaves_no_half_made_worktree(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, says: str
) -> None:
    files = {f"art/{number}.bin": f"pointer {number}" for number in range(6)}
    repo = make_repo(tmp_path / "lfs", extra_files={".gitattributes": "*.bin filter=lfs -text\n", **files})
    shim = repo_traps.write_script(tmp_path / "bin" / "git-lfs", body)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    spec = host.spec(repo)
    base, sha = host.fetch(spec)
    impatient = Git(host.git.clock, host.state / "scratch", timeout_s=2, grace_s=0.5)
    config = {key: value for key, value in LFS_CONFIG.items() if key != "filter.lfs.process"}
    with pytest.raises(RunFailure) as caught:
        cut(impatient, spec, base=base.name, base_sha=sha, config=config)
    assert (caught.value.outcome, caught.value.code) == (Outcome.INFRASTRUCTURE, "worktree-failed")
    assert re.search(says, caught.value.what), caught.value.what
    assert not spec.worktree.exists()


@pytest.mark.field_report("GIT-035")
@pytest.mark.parametrize(
    ("ours", "other", "says"),
    [
        ("autopilot/t-1-x", "AutoPilot/other", "differs only in case from"),
        ("autopilot/t-1-x", "autopilot/T-1-X", "differs only in case from"),
        ("autopilot/t-1-x", "autopilot", "needs a folder where stands"),
        ("autopilot/t-1-x", "AUTOPILOT", "differs only in case from"),
        ("autopilot/t-1-x", "autopilot/t-1-x/deeper", "stands where is a folder for"),
        ("autopilot/t-1-x", "autopilot/t-1-x", None),
        ("autopilot/t-1-x", "autopilot/t-1-xy", None),
        ("autopilot/t-1-x", "autopilot/t-10", None),
        ("autopilot/t-1-x", "main", None),
        ("straße/x", "STRASSE/y", "differs only in case from"),
    ],
)
def test_names_that_cannot_stand_side_by_side_are_told_apart(ours: str, other: str, says: str | None) -> None:
    assert name_conflict(ours, other) == says


@pytest.mark.field_report("GIT-035")
def test_a_branch_in_the_way_is_refused_before_agent_time_is_spent(host: Host, repo: Repo) -> None:
    repo_layouts.blocking_branch(repo)
    remote = look_at(host.git, repo.url)
    with pytest.raises(RunFailure) as caught:
        check_branch(host.spec(repo).branch, remote.branches)
    assert (caught.value.outcome, caught.value.code) == (Outcome.CONFIGURATION, "branch-name-refused")
    assert "'autopilot'" in caught.value.what


@pytest.mark.parametrize("branch", ["-x", "a b", "a..b", "main", "release/1", "x.lock", ""])
def test_a_branch_name_that_git_or_we_refuse_is_named(branch: str) -> None:
    with pytest.raises(RunFailure):
        check_branch(branch, ())
