"""From `autopilot init` inside a checkout of any kind to the draft: not a byte of the checkout changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.acceptance.conftest import MakePerson, one_person
from tests.support import agents, repo_layouts
from tests.support.gitcmd import git
from tests.support.person import Person
from tests.support.repos import Repo, fingerprint, make_repo
from tests.support.small_project import small_project, small_repo


def dirty(folder: Path) -> Repo:
    repo = make_repo(folder, project=small_project(), extra_files={"README.md": "# shop\n"})
    repo_layouts.dirty_checkout(repo)
    return repo


def detached(folder: Path) -> Repo:
    repo = small_repo(folder)
    repo_layouts.local_commit(repo)
    repo_layouts.detach_checkout(repo)
    return repo


def on_another_branch(folder: Path) -> Repo:
    repo = small_repo(folder)
    git(repo.checkout, "switch", "-q", "-c", "half-done")
    (repo.checkout / "answer.txt").write_text("half right\n")
    return repo


def linked(folder: Path) -> Repo:
    return repo_layouts.linked_worktree(small_repo(folder), folder / "side")


def sparse(folder: Path) -> Repo:
    files = {"docs/a.md": "a\n", "src/b.txt": "b\n"}
    repo = make_repo(folder, project=small_project(), extra_files=files)
    repo_layouts.sparse_checkout(repo, "docs")
    return repo


def shallow(folder: Path) -> Repo:
    return repo_layouts.shallow_clone(small_repo(folder), folder / "shallow")


def behind_a_link(folder: Path) -> Repo:
    return repo_layouts.symlinked_repo(small_repo(folder / "real"), folder / "links")


LAYOUTS: Mapping[str, Callable[[Path], Repo]] = {
    "dirty": dirty,
    "detached": detached,
    "on-another-branch": on_another_branch,
    "linked-worktree": linked,
    "sparse": sparse,
    "shallow": shallow,
    "behind-a-link": behind_a_link,
}
Night = Mapping[str, tuple[Person, Repo, str, Mapping[str, str]]]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """Each checkout is made known by `init`, then gets one ticket; all in one night."""
    folder = tmp_path_factory.mktemp("checkouts")
    repos = {kind: build(folder / kind) for kind, build in LAYOUTS.items()}
    before = {kind: fingerprint(repo.checkout) for kind, repo in repos.items()}
    mender = agents.mends(folder / "agents", small_project())
    with one_person(folder / "person", agents={"mender": mender}) as person:
        for kind, repo in repos.items():
            person.does("init", "--yes", "--name", kind, cwd=repo.checkout)
        person.begins()
        names = {kind: person.adds("--repo", kind, "Say what is right") for kind in repos}
        person.waits_for_all(list(names.values()))
        yield {kind: (person, repo, names[kind], before[kind]) for kind, repo in repos.items()}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.covers("B04", "B05")
@pytest.mark.field_report("GIT-040", "GIT-043")
@pytest.mark.parametrize("kind", LAYOUTS)
def test_a_checkout_of_any_kind_leads_to_a_draft_and_is_as_it_was(night: Night, kind: str) -> None:
    person, repo, name, before = night[kind]
    ticket = person.ticket(name)
    assert ticket["state"] == "published", person.does("why", name)
    (draft,) = person.drafts(kind)
    assert (draft.base, draft.head) == ("main", ticket["head"])
    assert git(repo.remote, "diff", "--name-only", repo.base_sha, draft.head) == "answer.txt"
    assert fingerprint(repo.checkout) == before


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_repository_without_a_remote_gets_its_branch_and_nothing_that_is_checked_out_changes(
    make_person: MakePerson, tmp_path: Path
) -> None:
    repo = small_repo(tmp_path / "repositories")
    git(repo.checkout, "remote", "remove", "origin")
    (repo.checkout / "notes.txt").write_text("of the person\n")
    before = fingerprint(repo.checkout)
    person = make_person(agents={"mender": agents.mends(tmp_path / "agents", repo.project)})
    assert "no remote" in person.does("init", "--yes", "--name", "shop", cwd=repo.checkout)
    person.begins()
    ticket = person.waits(person.adds("Say what is right"))
    assert ticket["state"] == "published"
    after = fingerprint(repo.checkout)
    refs = set(after.pop("refs").splitlines()) - set(before.pop("refs").splitlines())
    assert refs == {f"{ticket['head']} commit\trefs/heads/{ticket['branch']}"}
    assert after == before


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.field_report("VER-002")
def test_a_daemon_whose_shell_points_git_at_the_checkout_does_not_touch_it(
    make_person: MakePerson, tmp_path: Path
) -> None:
    project = small_project()
    commit = "git -c user.name=T -c user.email=t@example.org commit -q --allow-empty -m x"
    throw_away = f'cd "$(mktemp -d)" && git init -q && {commit} && cd "$OLDPWD"\n'
    check = {"check.sh": throw_away + project.files["check.sh"]}
    repo = make_repo(tmp_path / "repositories", project=project, extra_files=check)
    inside = repo.checkout / ".git"
    shell = {
        "GIT_DIR": str(inside),
        "GIT_INDEX_FILE": str(inside / "index"),
        "GIT_WORK_TREE": str(repo.checkout),
        "GIT_AUTHOR_NAME": "Somebody Else",
    }
    before = fingerprint(repo.checkout)
    mender = agents.mends(tmp_path / "agents", project)
    person = make_person(repos={"shop": repo}, agents={"mender": mender}, env=shell)
    person.begins()
    ticket = person.waits(person.adds("Say what is right"))
    assert ticket["state"] == "published", person.does("why", ticket["id"])
    assert git(repo.remote, "log", "-1", "--format=%an", ticket["head"]) == "Pat Doe"
    assert fingerprint(repo.checkout) == before


def unborn(folder: Path) -> Path:
    return repo_layouts.unborn_repo(folder).checkout


def bare(folder: Path) -> Path:
    return small_repo(folder).remote


def no_repository(folder: Path) -> Path:
    folder.mkdir()
    return folder


def detached_without_a_default(folder: Path) -> Path:
    repo = small_repo(folder)
    repo_layouts.dangling_remote_head(repo)
    repo_layouts.detach_checkout(repo)
    return repo.checkout


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (unborn, "no commit yet"),
        (bare, "bare"),
        (no_repository, "not inside a git repository"),
        (detached_without_a_default, "detached"),
    ],
)
def test_a_place_where_no_ticket_could_start_is_refused_with_a_cure_and_nothing_is_written(
    make_person: MakePerson, tmp_path: Path, build: Callable[[Path], Path], told: str
) -> None:
    person = make_person(agents={"mender": [{"say": "hello"}]})
    before = person.paths.config_file.read_bytes()
    done = person.types("init", "--yes", cwd=build(tmp_path / "there"))
    assert done.returncode == 78
    assert told in done.stderr
    assert "→" in done.stderr
    assert person.paths.config_file.read_bytes() == before
