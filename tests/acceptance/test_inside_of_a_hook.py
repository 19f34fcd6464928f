"""A night that is begun from inside of one of the person's own git hooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.conftest import MakePerson
from tests.support import agents
from tests.support.gitcmd import git
from tests.support.repo_layouts import linked_worktree
from tests.support.repos import fingerprint
from tests.support.small_project import small_repo


def environment_of_a_hook(checkout: Path, kept: Path) -> dict[str, str]:
    """What git really hands to a post-commit hook of this checkout, made absolute as a linked one's is."""
    hooks = Path(git(checkout, "rev-parse", "--path-format=absolute", "--git-common-dir")) / "hooks"
    hooks.mkdir(exist_ok=True)
    hook = hooks / "post-commit"
    hook.write_text(f"#!/bin/sh\nenv -0 > '{kept}'\n")
    hook.chmod(0o755)
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", f"core.hooksPath={hooks}")
    git(checkout, *who, "commit", "-q", "--allow-empty", "-m", "of the person")
    hook.unlink()
    pairs = (entry.partition("=") for entry in kept.read_text().split("\0") if entry.startswith("GIT_"))
    return {name: value for name, _, value in pairs}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.field_report("GIT-028")
def test_a_night_begun_inside_of_a_hook_moves_no_ref_but_its_own_branch(
    make_person: MakePerson, tmp_path: Path
) -> None:
    repo = linked_worktree(small_repo(tmp_path / "repositories"), tmp_path / "side")
    inherited = environment_of_a_hook(repo.checkout, tmp_path / "hook-environment")
    assert Path(inherited["GIT_DIR"]).is_absolute()
    before = fingerprint(repo.checkout)
    person = make_person(
        env={**inherited, "GIT_WORK_TREE": str(repo.checkout)},
        repos={"shop": repo},
        agents={"mender": agents.mends(tmp_path / "agents", repo.project)},
    )
    said = person.types("list")
    assert "started from inside of git" in said.stderr
    assert "GIT_DIR" in said.stderr
    person.begins()
    ticket = person.waits(person.adds("Say what is right"))
    assert ticket["state"] == "published", person.does("why", ticket["id"])
    assert fingerprint(repo.checkout) == before
    heads = git(repo.remote, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads").splitlines()
    assert f"refs/heads/{ticket['branch']} {ticket['head']}" in heads
    assert len([head for head in heads if head.split()[1] != repo.base_sha]) == 1
