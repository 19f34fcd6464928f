"""In whatever state an agent leaves its repository: one commit of ours on the base, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.run import Outcome
from tests.support.gitcmd import git
from tests.support.repos import Repo
from tests.support.runs import OPEN, Host, run_here
from tests.support.small_project import small_repo

ME = "git -c user.name=A -c user.email=a@example.org"
EDIT = f"echo half right > answer.txt; {ME} commit -qam"
CONFLICT = (
    f"git checkout -q -b other; {EDIT} theirs; git checkout -q -; "
    f"echo mine > answer.txt; {ME} commit -qam mine"
)
STATES = {
    "a detached head": f"git checkout -q --detach; {EDIT} x",
    "an orphan root": f"git checkout -q --orphan fresh; {ME} commit -qam root",
    "an orphan root in place of the branch": (
        "b=$(git symbolic-ref HEAD); tree=$(git write-tree); "
        'sha=$(git commit-tree "$tree" -m root </dev/null); git update-ref "$b" "$sha"'
    ),
    "a renamed branch": "git branch -m elsewhere",
    "the base branch checked out": "git checkout -q -b main || git checkout -q main",
    "a branch that went back": f"{EDIT} x; git reset -q --soft HEAD~1",
    "a rebase under way": f"{CONFLICT}; {ME} rebase -q other || true",
    "a merge under way": f"{CONFLICT}; {ME} merge -q other || true",
    "a bisect under way": f"{EDIT} x; git bisect start -q HEAD HEAD~1 || true",
}
MEND: list[dict[str, object]] = [{"write": {"path": "answer.txt", "text": "right\n"}}, {"say": "Mended."}]


@pytest.fixture
def small(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


@pytest.mark.field_report("AGT-041")
@pytest.mark.parametrize("state", STATES)
def test_the_commit_stands_on_the_base_and_holds_the_files_as_they_are(
    host: Host, small: Repo, state: str
) -> None:
    steps: list[dict[str, object]] = [{"run": ["sh", "-c", STATES[state]]}, *MEND]
    spec = host.spec(small, host.agent(steps), sandbox=OPEN)
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED, result.message
    judged = spec.run_dir / "judge.git"
    assert result.head is not None
    assert git(judged, "rev-list", "--parents", "-1", result.head).split() == [result.head, small.base_sha]
    assert git(judged, "show", f"{result.head}:answer.txt") == "right"
    assert git(judged, "log", "-1", "--format=%an", result.head) == spec.identity.name
    assert git(small.remote, "for-each-ref", "--format=%(objectname)") == small.base_sha


BROKEN: list[dict[str, object]] = [
    {"run": ["sh", "-c", f"{CONFLICT}; {ME} merge -q other || true"]},
    {"append": {"path": "answer.txt", "text": "right\n"}},
]


@pytest.mark.field_report("AGT-041")
def test_an_agent_that_left_marks_of_a_conflict_is_told_and_may_take_them_out(
    host: Host, small: Repo
) -> None:
    spec = host.spec(small, host.agent(BROKEN, MEND), sandbox=OPEN)
    assert run_here(spec).outcome is Outcome.COMMITTED
    prompt = (spec.run_dir / "prompt-2.md").read_text(encoding="utf-8")
    assert "marks of a conflict stand in answer.txt" in prompt


@pytest.mark.field_report("AGT-041")
def test_marks_of_a_conflict_that_stay_are_not_committed(host: Host, small: Repo) -> None:
    stays: list[dict[str, object]] = [{"say": "It is fine."}]
    spec = host.spec(small, host.agent(BROKEN, stays, stays), sandbox=OPEN)
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "not-committable")
    assert "answer.txt" in result.message


def test_a_new_file_may_show_what_a_conflict_looks_like(host: Host, small: Repo) -> None:
    text = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    steps: list[dict[str, object]] = [{"write": {"path": "docs/merging.md", "text": text}}, *MEND]
    assert run_here(host.spec(small, host.agent(steps))).outcome is Outcome.COMMITTED
