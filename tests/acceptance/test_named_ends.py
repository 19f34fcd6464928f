"""What cannot work ends in a named state, with a reason and a cure, and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from tests.acceptance.conftest import one_person
from tests.support import agents, repo_contents, repo_layouts
from tests.support.agents import write_agent
from tests.support.gitcmd import git
from tests.support.person import Person
from tests.support.repos import Repo, commit_files, make_repo
from tests.support.small_project import small_project, small_repo

TITLE = "Say what is right"
Program = agents.Agent | Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One ticket: its repository, its agent, and the end that a person must find."""

    state: str
    waits_for: str | None
    told: tuple[str, ...]
    repo: Callable[[Path], Repo] = small_repo
    agent: Callable[[Path], Program] | None = None
    base: str | None = "main"
    words: tuple[str, ...] = ()
    sessions: int = 1
    reports: tuple[str, ...] = ()


def without_a_test_command(folder: Path) -> Repo:
    repo = make_repo(folder, project=small_project())
    files = {"README.md": "# words only\n"}
    git(repo.remote, "update-ref", "-d", "refs/heads/main")
    sha = commit_files(repo.remote, "main", files, message="Only words", parentless=True)
    return Repo(repo.remote, repo.checkout, "main", sha, repo.project)


def moved_away(folder: Path) -> Repo:
    repo = small_repo(folder)
    repo_layouts.remote_unplugged(repo)
    return repo


def of_a_dangling_head(folder: Path) -> Repo:
    repo = small_repo(folder)
    repo_layouts.dangling_remote_head(repo)
    return repo


def with_a_branch_in_the_way(folder: Path) -> Repo:
    repo = small_repo(folder)
    repo_layouts.blocking_branch(repo)
    return repo


def with_a_policy_of_unknown_words(folder: Path) -> Repo:
    return make_repo(folder, project=small_project(), extra_files={".autopilot.toml": 'stak = "python"\n'})


def prose_only(folder: Path) -> agents.Agent:
    """Speaks, but not one line of it is JSON, and ends badly."""
    return write_agent(folder, "prose-only", 'say("I am afraid\\nI cannot\\n"); sys.exit(3)')


def prose_for_the_client(folder: Path) -> Program:
    """Stands where Claude Code should, ends well, and not one line of it is JSON."""
    program = write_agent(folder, "prose", 'say("I have mended everything.\\n")')
    return {"kind": "claude", "argv": [str(program.path)]}


def not_installed(folder: Path) -> Program:
    return {"kind": "claude", "argv": [str(folder / "claude")]}


def says_it_is_done(folder: Path) -> agents.Agent:
    """Claims success for a change that is not right."""
    body = 'open("answer.txt", "w").write("half\\n"); say("All tests pass.\\n")'
    return write_agent(folder, "says-it-is-done", body)


def deletes_its_folder(folder: Path) -> agents.Agent:
    body = "import shutil\nshutil.rmtree(os.getcwd())"
    return write_agent(folder, "deletes-its-folder", body)


CASES: Mapping[str, Case] = {
    "no-such-base": Case("parked", "base-branch", ("trunk",), words=("--base=trunk",)),
    "unborn": Case(
        "parked", "base-branch", ("no commit",), repo=repo_layouts.unborn_repo, reports=("GIT-031",)
    ),
    "no-base-at-all": Case("parked", "base-branch", ("default", "main"), repo=of_a_dangling_head, base=None),
    "no-test-command": Case("parked", "configuration", ("test",), repo=without_a_test_command),
    "unknown-policy": Case("parked", "configuration", ("stak", "stack"), repo=with_a_policy_of_unknown_words),
    "branch-in-the-way": Case(
        "parked", "configuration", ("autopilot",), repo=with_a_branch_in_the_way, reports=("GIT-035",)
    ),
    "needs-lfs": Case(
        "parked", "configuration", ("git-lfs",), repo=repo_contents.lfs_repo, reports=("GIT-029",)
    ),
    "remote-gone": Case("parked", "configuration", ("remote.git",), repo=moved_away),
    "agent-changes-nothing": Case("parked", "no-changes", ("nothing",), agent=agents.does_nothing),
    "agent-missing": Case("queued", None, ("claude", "is not there", "breaker reset"), agent=not_installed),
    "agent-asks": Case(
        "parked", "questions", ("Which?", "autopilot answer"), agent=lambda at: agents.asks(at, "Which?")
    ),
    "agent-lies": Case("parked", "breaker", ("test-summary",), agent=says_it_is_done),
    "client-speaks-prose": Case(
        "failed", None, ("stream-json", "mended"), agent=prose_for_the_client, sessions=2
    ),
    "agent-speaks-prose": Case("failed", None, ("3",), agent=prose_only, sessions=2),
    "agent-garbles": Case("failed", None, ("caf",), agent=agents.garbles, sessions=2, reports=("AGT-036",)),
    "agent-dies": Case("failed", None, ("9",), agent=agents.dies, sessions=2),
    "agent-deletes-its-folder": Case("failed", None, ("exit 1",), agent=deletes_its_folder, sessions=2),
}
BLOCKING = ("agent agent-missing", "repository remote-gone", "repository unborn")
Night = tuple[Person, Mapping[str, str]]


def config_of(cases: Mapping[str, Case], folder: Path) -> dict[str, Any]:
    """One repository and, where the case has one, one agent for each case."""
    repos: dict[str, Any] = {}
    programs: dict[str, Program] = {"mender": agents.mends(folder / "agents", small_project())}
    for kind, case in cases.items():
        repo = case.repo(folder / kind)
        repos[kind] = {"path": str(repo.remote), **({"base": case.base} if case.base else {})}
        if case.agent:
            programs[kind] = case.agent(folder / "agents" / kind)
            repos[kind]["agent"] = kind
    return {"repos": repos, "agents": programs}


def marked(kind: str, case: Case) -> ParameterSet:
    """The case, with the field reports that it keeps from coming back."""
    marks = [pytest.mark.field_report(*case.reports)] if case.reports else []
    return pytest.param(kind, marks=marks)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """One ticket for each case, all in one night; what the others run into stops none of them."""
    folder = tmp_path_factory.mktemp("named-ends")
    config = config_of(CASES, folder)
    with one_person(folder / "person", attempts_per_ticket=2, cost_ceiling_usd=500, **config) as person:
        person.daemon.start()
        person.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
        names = {
            kind: person.adds("--repo", kind, *case.words, "Say what is right")
            for kind, case in CASES.items()
        }
        person.waits_for_all([names[kind] for kind, case in CASES.items() if case.state != "queued"])
        person.waits_for_hold("breaker-open", "agent:agent-missing")
        yield person, names


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.covers("B08")
@pytest.mark.parametrize("kind", [marked(kind, case) for kind, case in CASES.items()])
def test_what_cannot_work_rests_in_a_named_state_with_a_reason_and_what_to_do(
    night: Night, kind: str
) -> None:
    (person, names), case = night, CASES[kind]
    ticket = person.ticket(names[kind])
    told = person.does("why", names[kind])
    assert (ticket["state"], ticket["waiting_for"], ticket["sessions"]) == (
        case.state,
        case.waits_for,
        case.sessions,
    ), told
    assert ticket["reason"]
    assert ticket["hint"]
    for word in case.told:
        assert word in told
    assert "Traceback" not in told
    assert person.drafts(kind) == ()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_turning_on_says_beforehand_what_cannot_work(night: Night) -> None:
    person, _ = night
    done = person.types("on", "--dry-run")
    assert done.returncode == 3
    blocked = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    assert {line.split(":")[0].removeprefix("✗ ") for line in blocked} >= set(BLOCKING)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_work_of_an_agent_that_was_not_believed_is_kept(night: Night) -> None:
    person, names = night
    worktree = person.paths.worktree(names["agent-lies"])
    assert (worktree / "answer.txt").read_text() == "half\n"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.covers("B09", "G04")
def test_the_digest_names_every_one_of_them_with_what_it_waits_for(night: Night) -> None:
    person, names = night
    digest = person.does("digest")
    for kind, name in names.items():
        line = next(line for line in digest.splitlines() if f"**{name}**" in line)
        assert (CASES[kind].waits_for or "") in line
    waiting = {names[kind] for kind, case in CASES.items() if case.state == "parked"}
    assert {ticket["id"] for ticket in person.asks("status")["parked"]} == waiting
