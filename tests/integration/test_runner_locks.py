"""Our lock of the mirror, and git's locks that a killed git left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autopilot.runner.failure import RunFailure
from autopilot.runner.locks import clear_stale_locks, held, holders
from autopilot.runner.mirror import base_ref
from autopilot.runner.places import git_path
from autopilot.schemas.run import Outcome
from tests.support import repo_traps
from tests.support.clock import FakeClock
from tests.support.repos import Repo, make_repo, move_remote
from tests.support.runs import Host


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


def test_a_busy_mirror_is_waited_for_and_then_named(host: Host, tmp_path: Path) -> None:
    lock = tmp_path / "x.git.lock"
    with (
        held(lock, timeout_s=1, clock=host.git.clock),
        pytest.raises(RunFailure) as caught,
        held(lock, timeout_s=0.1, clock=host.git.clock),
    ):
        pass
    assert (caught.value.outcome, caught.value.code) == (Outcome.INFRASTRUCTURE, "mirror-busy")
    with held(lock, timeout_s=0.1, clock=host.git.clock):
        pass


@pytest.mark.field_report("GIT-003")
@pytest.mark.parametrize("layout", ["bare", "worktree"])
def test_a_lock_that_a_killed_git_left_is_found_by_git_and_removed(
    host: Host, repo: Repo, layout: str
) -> None:
    spec = host.spec(repo)
    workspace = host.cut(spec)
    git_dir = workspace.admin if layout == "worktree" else spec.repo.mirror
    lock = repo_traps.leave_lock(git_path(host.git, git_dir, "index.lock"))
    if layout == "worktree":
        assert lock == workspace.admin / "index.lock"
    assert clear_stale_locks([lock, lock.with_name("none.lock")], host.git.clock) == [lock]
    assert not lock.exists()


@pytest.mark.field_report("GIT-003")
def test_a_mirrors_stale_lock_does_not_stop_the_next_fetch(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    host.fetch(spec)
    lock = repo_traps.leave_lock(spec.repo.mirror / f"{base_ref('main')}.lock")
    tip = move_remote(repo)
    assert host.fetch(spec)[1] == tip
    assert not lock.exists()


@pytest.mark.field_report("GIT-003")
@pytest.mark.parametrize("age_s", [0, 600])
def test_a_lock_that_is_young_or_held_is_left_alone_and_the_run_postponed(
    host: Host, tmp_path: Path, age_s: int
) -> None:
    lock = repo_traps.leave_lock(tmp_path / "index.lock", age_s=age_s)
    with lock.open("rb"):
        if age_s:
            assert holders(lock) == [os.getpid()]
        with pytest.raises(RunFailure) as caught:
            clear_stale_locks([lock], host.git.clock)
    assert (caught.value.outcome, caught.value.code) == (Outcome.INFRASTRUCTURE, "lock-held")
    assert lock.exists()


@pytest.mark.field_report("GIT-003")
def test_a_young_lock_is_waited_for_as_long_as_is_allowed(host: Host, tmp_path: Path) -> None:
    lock = repo_traps.leave_lock(tmp_path / "index.lock", age_s=0)
    assert clear_stale_locks([lock], host.git.clock, stale_after_s=0.5, wait_s=5) == [lock]


def test_a_lock_held_by_another_process_is_seen(host: Host, tmp_path: Path) -> None:
    lock = repo_traps.leave_lock(tmp_path / "index.lock")
    holder = subprocess.Popen(
        [sys.executable, "-I", "-c", f"f = open({str(lock)!r}); print('open', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert holders(lock) == [holder.pid]
        holder.communicate(b"\n")


def test_the_age_of_a_lock_is_taken_from_the_clock_that_is_given(tmp_path: Path) -> None:
    lock = repo_traps.leave_lock(tmp_path / "index.lock", age_s=0)
    clock = FakeClock(start_ms=round(lock.stat().st_mtime * 1000) + 59_000)
    with pytest.raises(RunFailure):
        clear_stale_locks([lock], clock)
    clock.advance(2)
    assert clear_stale_locks([lock], clock) == [lock]
