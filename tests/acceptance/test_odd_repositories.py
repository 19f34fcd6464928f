"""Repositories of any name, branch and content are worked on; a person's checkout is not touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import one_person
from tests.support import agents, repo_contents
from tests.support.gitcmd import git, git_bytes
from tests.support.person import Person
from tests.support.repos import Repo, make_repo
from tests.support.small_project import small_project

Night = dict[str, tuple[Person, Repo, str]]
FOLDERS = {
    "blanks": "two  words ",
    "quotes": """it's a "shop\"""",
    "letters-of-the-world": "ünï-日本語-\U0001f680",
    "line-end": "one\ntwo",
    "leading-dash": "-rf",
    "shell": "a$(id)`id`;b&|c*?[d]\\e",
    "like-an-option": "--upload-pack=x",
    "like-a-url": "https:",
    "hash-and-equals": "#a=b%20c",
}
BASES = {
    "base-in-letters": "trunk/ünïcode-разработка",
    "base-with-quotes": """it's-"so"$(id)""",
    "base-like-a-number": "2.x",
    "base-in-a-namespace-of-ours": "autopilot-next",
}


def in_a_folder_of_this_name(folder: Path, name: str) -> Repo:
    return make_repo(folder / name, project=small_project())


def from_a_base_of_this_name(folder: Path, base: str) -> Repo:
    return make_repo(folder, project=small_project(), base=base)


def writing_odd_names(folder: Path) -> agents.Agent:
    """Mends the project, and leaves a file of every odd name beside it."""
    project = small_project()
    names = json.dumps(list(repo_contents.allowed_names()))
    return agents.write_agent(
        folder,
        "odd-names",
        f"""
        import json
        open({project.broken_path!r}, "w").write({project.fixed_file()!r})
        for name in json.loads({names!r}):
            if os.path.dirname(name):
                os.makedirs(os.path.dirname(name), exist_ok=True)
            open(name, "w").write("odd\\n")
        """,
    )


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """One ticket for each repository, all in one night, whose own home has an odd name as well."""
    folder = tmp_path_factory.mktemp("odd repositories")
    repos = {
        **{kind: in_a_folder_of_this_name(folder / "folders", name) for kind, name in FOLDERS.items()},
        **{kind: from_a_base_of_this_name(folder / kind, base) for kind, base in BASES.items()},
    }
    odd = make_repo(
        folder / "names", project=small_project(), extra_files={"ä old.txt": "x\n", "new\nold": "x\n"}
    )
    tables = {kind: {"path": str(repo.remote), "base": repo.base} for kind, repo in repos.items()}
    tables["file-names"] = {"path": str(odd.remote), "base": "main", "agent": "odd-names"}
    programs = {
        "mender": agents.mends(folder / "agents", small_project()),
        "odd-names": writing_odd_names(folder / "agents"),
    }
    home = folder / "ho me" / 'it\'s "so" #1 $(id) ünï'
    with one_person(folder / "person", repos=tables, agents=programs, home=home) as person:
        person.begins()
        tickets = {kind: person.adds("--repo", kind, "Say what is right") for kind in tables}
        person.waits_for_all(list(tickets.values()))
        yield {kind: (person, {**repos, "file-names": odd}[kind], name) for kind, name in tickets.items()}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.field_report("GIT-008")
@pytest.mark.parametrize("kind", [*FOLDERS, *BASES])
def test_a_repository_is_worked_on_whatever_it_and_its_base_are_called(night: Night, kind: str) -> None:
    person, repo, name = night[kind]
    ticket = person.ticket(name)
    assert ticket["state"] == "published", person.does("why", name)
    (draft,) = person.drafts(kind)
    assert (draft.base, draft.head, draft.draft) == (repo.base, ticket["head"], True)
    assert git(repo.remote, "show", f"{draft.head}:answer.txt") == "right"
    assert "+right" in person.does("review", name)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.field_report("GIT-026")
def test_files_of_any_name_reach_the_draft_and_those_that_were_there_stay(night: Night) -> None:
    person, repo, name = night["file-names"]
    ticket = person.ticket(name)
    assert ticket["state"] == "published", person.does("why", name)
    listed = git_bytes(repo.remote, "ls-tree", "-r", "-z", "--name-only", ticket["head"]).decode()
    assert {*repo_contents.allowed_names(), "ä old.txt", "new\nold"} < set(listed.split("\0"))
    request = json.loads((person.paths.pr_requests / f"{ticket['run_id']}.json").read_bytes())
    assert set(repo_contents.allowed_names()) < {line["path"] for line in request["scope_check"]}
    assert "\r" not in person.does("review", name)
