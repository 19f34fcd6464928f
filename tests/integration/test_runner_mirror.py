"""What is fetched from a remote, and which branch a ticket starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git, GitError
from autopilot.runner.failure import RunFailure, as_failure
from autopilot.runner.mirror import base_ref, fetch_base
from autopilot.runner.remote import choose_base, look_at
from autopilot.schemas.run import Outcome, RunSpec
from tests.support import repo_layouts
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, fingerprint, make_repo, move_remote
from tests.support.runs import Host


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


def on_default(host: Host, repo: Repo, cached: str | None = None) -> RunSpec:
    spec = host.spec(repo)
    return spec.model_copy(
        update={
            "repo": spec.repo.model_copy(
                update={"base": None, "base_source": "default", "cached_default": cached}
            )
        }
    )


@pytest.mark.covers("B19")
@pytest.mark.parametrize("base", repo_layouts.ODD_BASES)
@pytest.mark.field_report("GIT-008")
def test_whatever_the_default_branch_is_called_it_is_found(host: Host, tmp_path: Path, base: str) -> None:
    repo = make_repo(tmp_path / "odd", base=base)
    chosen, sha = host.fetch(on_default(host, repo))
    assert (chosen.name, chosen.source, sha) == (base, "derived", repo.base_sha)


@pytest.mark.field_report("GIT-006")
def test_the_remote_is_asked_for_its_default_and_a_stale_clone_is_reported(
    host: Host, tmp_path: Path
) -> None:
    repo = repo_layouts.stale_origin_head(tmp_path / "stale")
    base, sha = host.fetch(on_default(host, repo, cached="main"))
    assert (base.name, sha) == ("develop", repo.base_sha)
    assert "'main'" in base.warnings[0]
    assert host.fetch(on_default(host, repo, cached="develop"))[0].warnings == ()


@pytest.mark.field_report("SEC-005")
def test_a_remote_whose_branch_is_named_like_an_option_is_fetched_from_without_it(
    host: Host, repo: Repo
) -> None:
    evil = repo.remote / "refs" / "heads" / "--upload-pack=touch evil"
    evil.write_text(f"{repo.base_sha}\n")
    base, sha = host.fetch(on_default(host, repo))
    assert (base.name, sha) == ("main", repo.base_sha)
    kept = git(host.state / "mirrors" / "bill.git", "for-each-ref", "--format=%(refname)")
    assert "upload-pack" not in kept
    (repo.remote / "HEAD").write_text("ref: refs/heads/--upload-pack=touch evil\n")
    assert failure(host, on_default(host, repo)).code in {"base-invalid", "base-unknown"}


def failure(host: Host, spec: RunSpec) -> RunFailure:
    with pytest.raises((RunFailure, GitError)) as caught:
        host.fetch(spec)
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
    host.fetch(host.spec(repo))
    repo_layouts.remote_unplugged(repo)
    assert failure(host, host.spec(repo)).code == "git-no-repo"
    assert git(host.spec(repo).repo.mirror, "cat-file", "-t", repo.base_sha) == "commit"


@pytest.mark.field_report("GIT-034")
def test_branches_that_differ_only_in_case_are_not_fetched_and_block_nobody(host: Host, repo: Repo) -> None:
    repo_layouts.case_branches(repo)
    spec = host.spec(repo)
    host.fetch(spec)
    refs = git(spec.repo.mirror, "for-each-ref", "--format=%(refname)").split()
    assert set(refs) == {base_ref("main"), "refs/autopilot/incoming"}


def test_two_bases_that_differ_only_in_case_or_by_a_folder_stand_side_by_side(host: Host, repo: Repo) -> None:
    sha = commit_files(repo.remote, "Main", {"other": "x"})
    spec = host.spec(repo)
    upper = spec.model_copy(update={"repo": spec.repo.model_copy(update={"base": "Main"})})
    assert host.fetch(spec)[1] == repo.base_sha
    assert host.fetch(upper)[1] == sha
    git(repo.remote, "update-ref", "-d", "refs/heads/Main")
    deeper = commit_files(repo.remote, "Main/deeper", {"other": "y"})
    deep = spec.model_copy(update={"repo": spec.repo.model_copy(update={"base": "Main/deeper"})})
    assert host.fetch(deep)[1] == deeper
    assert base_ref("main").casefold() != base_ref("Main").casefold()


def test_the_base_is_the_remotes_as_it_is_now_even_when_it_was_rewound(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    tip = move_remote(repo)
    assert host.fetch(spec)[1] == tip
    git(repo.remote, "update-ref", "refs/heads/main", repo.base_sha)
    assert host.fetch(spec)[1] == repo.base_sha


def test_a_branch_that_git_will_not_take_over_is_no_reason_to_use_an_old_base(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    spec = host.spec(repo)
    host.fetch(spec)
    move_remote(repo)
    clone = repo_layouts.shallow_clone(repo, tmp_path / "shallow")
    shallow = spec.model_copy(update={"repo": spec.repo.model_copy(update={"url": str(clone.checkout)})})
    found = failure(host, shallow)
    assert (found.outcome, found.code) == (Outcome.CONFIGURATION, "base-not-fetched")
    assert "--unshallow" in found.hint


class StoppedWhileReading(Git):
    """Our git, ended by the daemon in the middle of looking at what was fetched."""

    def run(self, *args: str, **options: Any) -> bytes:  # noqa: ANN401
        if args[0] == "rev-parse":
            raise GitError("git-stopped", "git was stopped: the daemon stops")
        return super().run(*args, **options)


def test_a_run_stopped_just_after_the_fetch_says_nothing_about_the_repository(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    remote = look_at(host.network, spec.repo.url)
    ours = StoppedWhileReading(SystemClock(), host.state / "scratch")
    base = choose_base(spec.repo, remote)
    with pytest.raises(GitError) as caught:
        fetch_base(ours, host.network, spec.repo, base=base, remote=remote, on_lock_removed=lambda _: None)
    assert as_failure(caught.value).outcome is Outcome.STOPPED


def test_a_mirror_that_was_begun_and_never_finished_is_begun_anew(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    draft = spec.repo.mirror.with_name(f"{spec.repo.mirror.name}.new")
    draft.mkdir(parents=True)
    (draft / "HEAD").touch()
    assert host.fetch(spec)[1] == repo.base_sha
    assert not draft.exists()
