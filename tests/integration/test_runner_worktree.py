"""Mirror, private repository and worktree, on real repositories of every shape."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autopilot.config.git import Git, GitError
from autopilot.runner.failure import RunFailure, as_failure
from autopilot.runner.locks import clear_stale_locks, held, holders
from autopilot.runner.mirror import base_ref, fetch_base
from autopilot.runner.places import git_path
from autopilot.runner.preflight import check_branch, check_lfs, name_conflict, uses_lfs
from autopilot.runner.remote import Base, choose_base, look_at
from autopilot.runner.worktree import LFS_CONFIG, TRASH, Workspace, check_place, cut, set_aside
from autopilot.schemas.run import Outcome, RunSpec
from tests.support import repo_layouts, repo_traps
from tests.support.clock import FakeClock
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, fingerprint, make_repo, move_remote
from tests.support.runs import Host


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "state")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


def fetched(host: Host, spec: RunSpec) -> tuple[Base, str]:
    network = Git(host.git.clock, host.state / "scratch", timeout_s=60, user_config=True)
    remote = look_at(network, spec.repo.url)
    base = choose_base(spec.repo, remote)
    removed: list[Path] = []
    sha = fetch_base(host.git, network, spec.repo, base=base, remote=remote, on_lock_removed=removed.append)
    return base, sha


def made(host: Host, spec: RunSpec) -> Workspace:
    base, sha = fetched(host, spec)
    return cut(host.git, spec, base=base.name, base_sha=sha)


def on_default(host: Host, repo: Repo, cached: str | None = None) -> RunSpec:
    spec = host.spec(repo)
    return spec.model_copy(
        update={
            "repo": spec.repo.model_copy(
                update={"base": None, "base_source": "default", "cached_default": cached}
            )
        }
    )


@pytest.mark.covers("A02", "A13", "O07")
def test_a_worktree_shows_the_base_on_a_fresh_branch_that_tracks_nothing(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    workspace = made(host, spec)
    assert (workspace.worktree / repo.project.broken_path).read_text() == repo.project.files[
        repo.project.broken_path
    ]
    assert git(workspace.worktree, "rev-parse", "HEAD") == repo.base_sha
    assert git(workspace.worktree, "symbolic-ref", "HEAD") == f"refs/heads/{spec.branch}"
    assert git(workspace.worktree, "rev-parse", "origin/main") == repo.base_sha
    assert git(workspace.worktree, "status", "--porcelain") == ""
    assert "branch" not in (workspace.repository / "config").read_text()
    assert "remote" not in (workspace.repository / "config").read_text()


def test_a_run_borrows_the_mirrors_objects_and_copies_none(host: Host, repo: Repo) -> None:
    workspace = made(host, host.spec(repo))
    objects = workspace.repository / "objects"
    assert not [file for file in objects.rglob("*") if file.is_file() and file.parent.name != "info"]


@pytest.mark.parametrize("base", repo_layouts.ODD_BASES)
@pytest.mark.field_report("GIT-008")
def test_whatever_the_default_branch_is_called_it_is_found(host: Host, tmp_path: Path, base: str) -> None:
    repo = make_repo(tmp_path / "odd", base=base)
    chosen, sha = fetched(host, on_default(host, repo))
    assert (chosen.name, chosen.source, sha) == (base, "derived", repo.base_sha)


@pytest.mark.field_report("GIT-006")
def test_the_remote_is_asked_for_its_default_and_a_stale_clone_is_reported(
    host: Host, tmp_path: Path
) -> None:
    repo = repo_layouts.stale_origin_head(tmp_path / "stale")
    base, sha = fetched(host, on_default(host, repo, cached="main"))
    assert (base.name, sha) == ("develop", repo.base_sha)
    assert "'main'" in base.warnings[0]
    assert fetched(host, on_default(host, repo, cached="develop"))[0].warnings == ()


def failure(host: Host, spec: RunSpec) -> RunFailure:
    with pytest.raises((RunFailure, GitError)) as caught:
        fetched(host, spec)
    return as_failure(caught.value)


@pytest.mark.field_report("GIT-008")
def test_an_unknown_default_names_the_branches_there_are(host: Host, repo: Repo) -> None:
    repo_layouts.dangling_remote_head(repo)
    found = failure(host, on_default(host, repo))
    assert (found.outcome, found.code) == (Outcome.BASE_BRANCH, "base-unknown")
    assert "main" in found.hint


def test_a_base_that_is_not_there_names_the_nearest(host: Host, repo: Repo) -> None:
    commit_files(repo.remote, "release/2.x", {"a": "b"})
    spec = host.spec(repo)
    spec = spec.model_copy(update={"repo": spec.repo.model_copy(update={"base": "release/2.0"})})
    found = failure(host, spec)
    assert (found.outcome, found.code) == (Outcome.BASE_BRANCH, "base-not-found")
    assert found.hint.startswith("it has release/2.x")


@pytest.mark.field_report("GIT-031")
@pytest.mark.parametrize("has_base", [True, False])
def test_a_repository_without_a_commit_is_refused_and_nothing_is_touched(
    host: Host, tmp_path: Path, has_base: bool
) -> None:
    repo = repo_layouts.unborn_repo(tmp_path / "unborn")
    before = fingerprint(repo.checkout)
    found = failure(host, host.spec(repo) if has_base else on_default(host, repo))
    assert (found.outcome, found.code) == (Outcome.BASE_BRANCH, "base-unborn")
    assert fingerprint(repo.checkout) == before
    assert not host.spec(repo).worktree.exists()


@pytest.mark.field_report("GIT-031")
def test_without_a_worktree_there_is_no_run_and_no_other_folder(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    spec.worktree.parent.parent.mkdir(parents=True, exist_ok=True)
    spec.worktree.parent.write_text("a file where the folder should be")
    before = fingerprint(repo.checkout)
    with pytest.raises(RunFailure) as caught:
        made(host, spec)
    assert (caught.value.outcome, caught.value.code) == (Outcome.INFRASTRUCTURE, "worktree-failed")
    assert fingerprint(repo.checkout) == before


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("-oProxyCommand=touch pwned", Outcome.CONFIGURATION),
        ("--upload-pack=touch pwned", Outcome.CONFIGURATION),
        ("ext::sh -c 'touch pwned'", Outcome.CONFIGURATION),
        ("relative/path", Outcome.CONFIGURATION),
        ("/nowhere/at/all.git", Outcome.CONFIGURATION),
        ("http://127.0.0.1:9/nobody.git", Outcome.INFRASTRUCTURE),
    ],
)
def test_a_remote_that_cannot_be_fetched_from_ends_in_a_named_way(
    host: Host, repo: Repo, url: str, outcome: Outcome, tmp_path: Path
) -> None:
    spec = host.spec(repo)
    found = failure(host, spec.model_copy(update={"repo": spec.repo.model_copy(update={"url": url})}))
    assert found.outcome is outcome
    assert not list(tmp_path.rglob("pwned"))


def test_a_remote_that_went_away_is_named_and_the_mirror_stays(host: Host, repo: Repo) -> None:
    fetched(host, host.spec(repo))
    repo_layouts.remote_unplugged(repo)
    assert failure(host, host.spec(repo)).code == "git-no-repo"
    assert git(host.spec(repo).repo.mirror, "cat-file", "-t", repo.base_sha) == "commit"


@pytest.mark.field_report("GIT-034")
def test_branches_that_differ_only_in_case_are_not_fetched_and_block_nobody(host: Host, repo: Repo) -> None:
    repo_layouts.case_branches(repo)
    spec = host.spec(repo)
    fetched(host, spec)
    refs = git(spec.repo.mirror, "for-each-ref", "--format=%(refname)").split()
    assert refs == [base_ref("main")]


def test_two_bases_that_differ_only_in_case_or_by_a_folder_stand_side_by_side(host: Host, repo: Repo) -> None:
    sha = commit_files(repo.remote, "Main", {"other": "x"})
    spec = host.spec(repo)
    upper = spec.model_copy(update={"repo": spec.repo.model_copy(update={"base": "Main"})})
    assert fetched(host, spec)[1] == repo.base_sha
    assert fetched(host, upper)[1] == sha
    git(repo.remote, "update-ref", "-d", "refs/heads/Main")
    deeper = commit_files(repo.remote, "Main/deeper", {"other": "y"})
    deep = spec.model_copy(update={"repo": spec.repo.model_copy(update={"base": "Main/deeper"})})
    assert fetched(host, deep)[1] == deeper
    assert base_ref("main").casefold() != base_ref("Main").casefold()


def test_the_base_is_the_remotes_as_it_is_now_even_when_it_was_rewound(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    tip = move_remote(repo)
    assert fetched(host, spec)[1] == tip
    git(repo.remote, "update-ref", "refs/heads/main", repo.base_sha)
    assert fetched(host, spec)[1] == repo.base_sha


@pytest.mark.field_report("GIT-001")
def test_eight_runs_at_once_on_one_repository_all_get_their_worktree(host: Host, repo: Repo) -> None:
    (repo.checkout / ".git" / "config.lock").touch()
    with ThreadPoolExecutor(8) as pool:
        for turn in range(3):
            specs = [
                host.spec(repo, attempt=1 + turn * 8 + number).model_copy(
                    update={"worktree": host.state / "worktrees" / f"T-{turn}-{number}"}
                )
                for number in range(8)
            ]
            for workspace in pool.map(lambda spec: made(host, spec), specs):
                assert git(workspace.worktree, "rev-parse", "HEAD") == repo.base_sha
    assert (repo.checkout / ".git" / "config.lock").exists()


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
    workspace = made(host, spec)
    git_dir = workspace.admin if layout == "worktree" else spec.repo.mirror
    lock = repo_traps.leave_lock(git_path(host.git, git_dir, "index.lock"))
    if layout == "worktree":
        assert lock == workspace.admin / "index.lock"
    assert clear_stale_locks([lock, lock.with_name("none.lock")], host.git.clock) == [lock]
    assert not lock.exists()


@pytest.mark.field_report("GIT-003")
def test_a_mirrors_stale_lock_does_not_stop_the_next_fetch(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    fetched(host, spec)
    lock = repo_traps.leave_lock(spec.repo.mirror / f"{base_ref('main')}.lock")
    tip = move_remote(repo)
    assert fetched(host, spec)[1] == tip
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


@pytest.mark.field_report("GIT-013")
def test_a_retry_after_the_worktree_was_deleted_by_hand_gets_a_new_one(host: Host, repo: Repo) -> None:
    first = made(host, host.spec(repo))
    git(repo.checkout, "status")
    for file in sorted(first.worktree.rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    first.worktree.rmdir()
    second = made(host, host.spec(repo, attempt=2))
    assert second.worktree == first.worktree
    assert git(second.worktree, "rev-parse", "--show-toplevel") == str(second.worktree.resolve())


@pytest.mark.field_report("GIT-013")
def test_what_an_earlier_attempt_left_is_moved_aside_with_all_its_work(host: Host, repo: Repo) -> None:
    first = made(host, host.spec(repo))
    (first.worktree / "work.txt").write_text("half done")
    second = made(host, host.spec(repo, attempt=2))
    [kept] = (second.worktree.parent / TRASH).iterdir()
    assert (kept / "work.txt").read_text() == "half done"
    assert not (second.worktree / "work.txt").exists()


def test_whatever_stands_in_the_place_is_moved_aside_and_never_followed(host: Host, tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "T-1", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    makers: list[Callable[[], None]] = [place.mkdir, place.touch, lambda: place.symlink_to(elsewhere)]
    for number, make in enumerate(makers, start=1):
        make()
        moved = set_aside(place, "T-1-a2-00000002")
        assert moved is not None
        assert not place.is_symlink()
        assert not place.exists()
        assert len(list((tmp_path / TRASH).iterdir())) == number
    assert (elsewhere / "precious").exists()
    assert set_aside(place, "T-1-a2-00000002") is None


@pytest.mark.field_report("GIT-013")
def test_a_folder_that_is_no_longer_the_worktree_is_noticed(host: Host, repo: Repo, tmp_path: Path) -> None:
    workspace = made(host, host.spec(repo))
    check_place(workspace)
    link = workspace.worktree / ".git"
    link.write_text(f"gitdir: {repo.checkout / '.git'}\n")
    with pytest.raises(RunFailure, match="not linked"):
        check_place(workspace)
    workspace.worktree.rename(tmp_path / "moved")
    with pytest.raises(RunFailure, match="not there"):
        check_place(workspace)
    workspace.worktree.symlink_to(tmp_path / "moved")
    with pytest.raises(RunFailure, match="not there") as caught:
        check_place(workspace)
    assert caught.value.outcome is Outcome.INFRASTRUCTURE


@pytest.mark.field_report("GIT-016", "GIT-017")
@pytest.mark.parametrize("then", [repo_traps.FAIL, repo_traps.HANG, repo_traps.SWITCH])
def test_no_hook_and_no_signing_of_the_users_is_ever_run(
    host: Host, repo: Repo, tmp_path: Path, then: str
) -> None:
    marks = [
        repo_traps.set_hooks(repo.checkout, tmp_path / "hooks", then=then),
        repo_traps.set_hooks(repo.remote, tmp_path / "remote-hooks", then=then),
        repo_traps.set_signing(repo.checkout, tmp_path / "gpg", then=then),
        repo_traps.set_config_commands(repo.remote, tmp_path / "commands"),
        repo_traps.set_config_commands(repo.checkout, tmp_path / "own-commands"),
    ]
    before = fingerprint(repo.checkout)
    sprung = [mark.sprung() for mark in marks]
    spec, local = host.spec(repo), host.spec(repo, attempt=2)
    local = local.model_copy(update={"repo": local.repo.model_copy(update={"url": str(repo.checkout)})})
    made(host, spec)
    made(host, local)
    assert [mark.sprung() for mark in marks] == sprung
    assert fingerprint(repo.checkout) == before


@pytest.fixture(params=["plain", "dirty", "detached", "sparse", "linked", "bare-with-worktrees", "symlinked"])
def checkout(request: pytest.FixtureRequest, repo: Repo, tmp_path: Path) -> Repo:
    match request.param:
        case "dirty":
            repo_layouts.dirty_checkout(repo)
        case "detached":
            repo_layouts.detach_checkout(repo)
        case "sparse":
            repo_layouts.sparse_checkout(repo)
        case "linked":
            repo = repo_layouts.linked_worktree(repo, tmp_path / "linked")
        case "bare-with-worktrees":
            repo = repo_layouts.bare_with_worktrees(tmp_path / "layout")
        case "symlinked":
            repo = repo_layouts.symlinked_repo(repo, tmp_path / "links")
    return repo


@pytest.mark.field_report("GIT-040", "GIT-043")
def test_the_users_checkout_may_look_as_it_will_and_stays_untouched(host: Host, checkout: Repo) -> None:
    before = fingerprint(checkout.checkout)
    spec = host.spec(checkout)
    spec = spec.model_copy(update={"repo": spec.repo.model_copy(update={"url": str(checkout.checkout)})})
    workspace = made(host, spec)
    assert git(workspace.worktree, "status", "--porcelain") == ""
    assert (workspace.worktree / checkout.project.test_paths[0]).exists()
    assert fingerprint(checkout.checkout) == before
    assert "worktreeConfig" not in (workspace.repository / "config").read_text()


@pytest.mark.field_report("GIT-029")
def test_a_repository_of_lfs_files_is_recognised_by_its_attributes(host: Host, tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "lfs",
        extra_files={
            "art/.gitattributes": "*.png -text\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "art/a.bin": "x",
        },
    )
    _, sha = fetched(host, host.spec(repo))
    mirror = host.spec(repo).repo.mirror
    assert uses_lfs(host.git, mirror, sha)
    plain = commit_files(repo.remote, "main", {"art/.gitattributes": "# *.bin filter=lfs\n*.x filter=lfsx\n"})
    fetched(host, host.spec(repo))
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
    [(FAIL_ON_THE_THIRD, "smudge filter lfs failed"), (repo_traps.HANG, "took longer than 2 s")],
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
    base, sha = fetched(host, spec)
    impatient = Git(host.git.clock, host.state / "scratch", timeout_s=2, grace_s=0.5)
    config = {key: value for key, value in LFS_CONFIG.items() if key != "filter.lfs.process"}
    with pytest.raises(RunFailure) as caught:
        cut(impatient, spec, base=base.name, base_sha=sha, config=config)
    assert (caught.value.outcome, caught.value.code) == (Outcome.INFRASTRUCTURE, "worktree-failed")
    assert says in caught.value.what
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


def test_a_repository_of_sha256_names_works_too(host: Host, tmp_path: Path) -> None:
    remote = tmp_path / "remote256.git"
    git(tmp_path, "init", "-q", "--bare", "--object-format=sha256", str(remote))
    sha = commit_files(remote, "main", {"a.txt": "a\n"})
    git(remote, "symbolic-ref", "HEAD", "refs/heads/main")
    repo = Repo(remote, remote, "main", sha, make_repo(tmp_path / "other").project)
    assert len(sha) == 64
    assert git(made(host, host.spec(repo)).worktree, "rev-parse", "HEAD") == sha


@pytest.mark.parametrize("place", ["with space", "quote'\"s", "ünï 世界", "-dash"])
def test_repository_and_state_may_lie_in_folders_of_any_name(tmp_path: Path, place: str) -> None:
    repo = make_repo(tmp_path / place / "theirs")
    host = Host(tmp_path / place / "state")
    assert git(made(host, host.spec(repo)).worktree, "rev-parse", "HEAD") == repo.base_sha
