"""Whatever a repository has set that git would run, none of it runs in any git call of ours."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from autopilot.daemon.survey import survey
from autopilot.runner.mirror import fetch_base
from autopilot.runner.remote import choose_base, look_at
from autopilot.schemas.run import Outcome
from tests.support.git_commands import ATTRIBUTES, calls, careless, plant, script_that_plants
from tests.support.git_words import called_by_us
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, make_repo
from tests.support.runs import OPEN, Host, events_of, mending_steps, run_here

# What our own code asks of a repository that somebody else may have configured.
IN_THEIRS = calls(
    "rev-parse HEAD",
    "cat-file -p HEAD",
    "for-each-ref",
    "rev-list --objects HEAD",
    "ls-tree -r HEAD",
    "count-objects -v",
    "merge-base HEAD HEAD",
    "config --list",
    "update-ref refs/x/y HEAD",
    "pack-refs --all",
    "repack -d -q",
    "bundle create ../x.bundle HEAD",
    "diff-tree -r -p --no-ext-diff --no-textconv HEAD~1 HEAD",
    "ls-files -s",
    "remote",
    "ls-remote .",
    "clone -q --no-checkout . ../copy",
    "init -q --bare ../new.git",
)
# What it does with their files and commits by a repository of its own, which has their attributes too.
OVER_THEIRS = calls(
    "fetch -q --no-tags --no-write-fetch-head -- @theirs@ +HEAD:refs/x/y",
    "add --all -- .",
    "update-index -q --really-refresh",
    "diff-files -z --name-only",
    "diff-index --cached --raw -z HEAD",
    "diff --no-ext-diff --no-textconv refs/x/base HEAD --",
    "ls-files -z --others --exclude-standard",
    "read-tree --reset -u refs/x/ours",
    "checkout-index -a -f -q",
    "checkout -q -f --detach refs/x/ours",
    "clean -ffdxq",
    "merge-tree --write-tree refs/x/ours refs/x/theirs",
    "write-tree",
    "mktree --missing",
    "hash-object -t tree -w --stdin",
    "commit-tree -m x HEAD^{tree}",
    "commit -q --allow-empty -m x",
    "grep -q -I -E -e . HEAD --",
    "worktree add -q --no-track -b x -- ../tree HEAD",
    "push -q --no-verify --no-signed ../../bare.git HEAD:refs/heads/x",
)
# Tried by what asks it: `autopilot init`.
ASKED_BY_INIT = {"status"}
# Words of git's that stand in our source as something else.
NO_CALLS = {"gc": "the name of a log", "replace": "references that nobody takes over"}


AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
}


class Own(NamedTuple):
    """A repository of ours, and the git that works by it."""

    git: Git
    place: Path


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "theirs", extra_files={".gitattributes": ATTRIBUTES})
    commit_files(repo.remote, "side", {"a": "b"})
    return repo


@pytest.mark.field_report("SEC-003")
def test_what_is_planted_runs_for_whoever_trusts_the_repository(repo: Repo, tmp_path: Path) -> None:
    (repo.checkout / "new.txt").write_text("new\n")
    planted = plant(repo.checkout, tmp_path / "traps", tmp_path / "mark")
    careless(repo.checkout, "status")
    for line in calls("add -A", "diff --cached", "commit -m x", "fetch origin", "push origin HEAD:x"):
        careless(repo.checkout, "-c", "filter.trap.process=", *line)
    assert {
        *("include.path", "filter.trap.process", "diff.trap.command"),
        *("remote.origin.uploadpack", "remote.origin.receivepack", "hook:pre-commit"),
    } <= planted.sprung()


@pytest.mark.field_report("SEC-003")
@pytest.mark.parametrize("line", IN_THEIRS, ids=" ".join)
def test_a_call_of_ours_in_such_a_repository_runs_none_of_it(
    repo: Repo, tmp_path: Path, line: tuple[str, ...]
) -> None:
    git(repo.checkout, "commit", "-q", "--allow-empty", "-m", "second")
    planted = plant(repo.checkout, tmp_path / "traps", tmp_path / "mark")
    ours = Git(SystemClock(), tmp_path / "scratch", timeout_s=60)
    ours.run(*line, cwd=repo.checkout)
    assert planted.sprung() == set()


@pytest.fixture
def own(repo: Repo, tmp_path: Path) -> Own:
    """A repository of ours with a list of their files, and edits in those that nobody has looked at."""
    text, lines = repo.checkout / "trapped.txt", [f"{number}\n" for number in range(40)]
    branches = {"main": lines, "ours": ["ours\n", *lines[1:]], "theirs": [*lines[:-1], "theirs\n"]}
    for name, content in branches.items():
        if name != "main":
            git(repo.checkout, "checkout", "-q", "-b", name, "main")
        text.write_text("".join(content))
        git(repo.checkout, "add", "trapped.txt")
        git(repo.checkout, "commit", "-q", "-m", name)
    git(repo.checkout, "checkout", "-q", "main")
    place = tmp_path / "own.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(place))
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    wanted = {"main": "refs/heads/main", "main~1": "refs/x/base"}
    for theirs, ours in {**wanted, "ours": "refs/x/ours", "theirs": "refs/x/theirs"}.items():
        sha = git(repo.checkout, "rev-parse", theirs)
        git(place, "fetch", "-q", str(repo.checkout), f"{sha}:{ours}")
    git(place, "read-tree", "HEAD")
    text.write_text("an edit\n")
    return Own(Git(SystemClock(), tmp_path / "scratch", timeout_s=60, env=AUTHOR), place)


@pytest.mark.field_report("SEC-003")
@pytest.mark.parametrize("line", OVER_THEIRS, ids=" ".join)
def test_a_call_by_a_repository_of_ours_over_their_files_runs_none_of_it(
    own: Own, repo: Repo, tmp_path: Path, line: tuple[str, ...]
) -> None:
    planted = plant(repo.checkout, tmp_path / "traps", tmp_path / "mark")
    (own.place / "info").mkdir(exist_ok=True)
    (own.place / "info" / "attributes").write_text(ATTRIBUTES)
    words = [str(repo.checkout) if word == "@theirs@" else word for word in line]
    own.git.run(*words, git_dir=own.place, work_tree=repo.checkout, cwd=repo.checkout, stdin=b"")
    assert planted.sprung() == set()


@pytest.mark.field_report("SEC-003")
def test_what_init_asks_of_a_checkout_with_edits_runs_none_of_it(repo: Repo, tmp_path: Path) -> None:
    planted = plant(repo.checkout, tmp_path / "traps", tmp_path / "mark")
    git(repo.checkout, "config", "filter.a=b.clean", f"echo odd >> '{planted.mark}'; cat")
    (repo.checkout / ".git" / "info" / "attributes").write_text(f"{ATTRIBUTES}.gitattributes filter=a=b\n")
    for name in git(repo.checkout, "ls-files").splitlines():
        edited = repo.checkout / name
        edited.write_bytes(edited.read_bytes().swapcase())
    found = survey(repo.checkout, clock=SystemClock(), scratch=tmp_path / "scratch")
    assert "uncommitted changes here are not seen" in " ".join(found.notes)
    assert planted.sprung() == set()


@pytest.mark.field_report("SEC-003")
def test_every_call_of_git_in_our_source_is_tried() -> None:
    """A call that is new in src has no row yet, and fails here."""
    made = called_by_us()
    assert len(made) > 30
    tried = {line[0] for line in (*IN_THEIRS, *OVER_THEIRS)} | ASKED_BY_INIT
    assert {word: place for word, place in made.items() if word not in {*tried, *NO_CALLS}} == {}
    assert sorted(tried - made.keys()) == [], "a row for what we do not call"


@pytest.mark.field_report("SEC-002", "SEC-003")
def test_a_repository_of_the_person_is_fetched_from_and_watched_and_none_of_it_runs(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    planted = [
        plant(place, tmp_path / f"traps-{number}", tmp_path / f"mark-{number}")
        for number, place in enumerate((repo.remote, repo.checkout))
    ]
    spec = host.spec(repo, host.agent(mending_steps(repo.project)))
    for url in (repo.url, str(repo.checkout)):
        again = spec.repo.model_copy(update={"url": url})
        remote = look_at(host.network, url)
        base = choose_base(again, remote)
        assert fetch_base(
            host.git, host.network, again, base=base, remote=remote, on_lock_removed=lambda _: None
        )
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED, result.message
    assert [each.sprung() for each in planted] == [set(), set()]


@pytest.mark.field_report("SEC-002", "SEC-003")
def test_nothing_that_an_agent_left_in_its_repository_runs_and_it_is_named(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    script = script_that_plants(tmp_path / "traps", mark)
    find = "git rev-parse --path-format=absolute --git-common-dir"
    steps: list[dict[str, object]] = [
        {"run": ["sh", "-c", f'{shlex.quote(str(script))} "$({find})"']},
        *mending_steps(repo.project),
    ]
    first = host.spec(repo, host.agent(steps, name="planter"), sandbox=OPEN)
    result = run_here(first)
    assert result.outcome is not Outcome.COMMITTED
    assert "config" in result.message
    assert not first.pr_request.exists()
    # The next attempt saves what is there and tidies it away.
    second = host.spec(repo, host.agent([{"say": "x"}], name="idle"), attempt=2, sandbox=OPEN)
    run_here(second)
    assert events_of(second, "work.salvaged")
    assert (mark.read_text() if mark.exists() else "") == ""
