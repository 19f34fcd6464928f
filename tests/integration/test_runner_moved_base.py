"""An agent may move any reference of its own repository; nothing that is published or mirrored follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.run import Outcome
from tests.integration.test_publish_of_a_run import order, publish
from tests.support.gitcmd import git
from tests.support.publisher import branches
from tests.support.repos import make_repo
from tests.support.runs import Host, mending_steps, run_here

pytestmark = pytest.mark.needs(binary="bwrap", apt="bubblewrap")

MOVE = """
evil=$(git -c user.name=a -c user.email=a@b.invalid commit-tree -m evil "HEAD^{tree}")
git update-ref refs/heads/main "$evil" && git update-ref refs/heads/evil "$evil"
git update-ref refs/tags/v1 "$evil"
git rev-parse refs/heads/main > moved.txt
"""


def test_a_base_that_the_agent_moved_changes_nothing_that_goes_out(host: Host, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "theirs")
    before = branches(repo.remote)
    steps: list[dict[str, object]] = [{"run": ["sh", "-ec", MOVE]}, *mending_steps(repo.project)]
    run = host.spec(repo, host.agent(steps))
    result = run_here(run)
    assert result.outcome is Outcome.COMMITTED, result
    evil = git(run.run_dir / "judge.git", "show", f"{result.head}:moved.txt")
    assert git(run.run_dir / "repo.git", "rev-parse", "refs/heads/main") == evil
    assert result.base_sha == repo.base_sha
    assert git(run.run_dir / "judge.git", "rev-parse", f"{result.head}^") == repo.base_sha
    assert publish(order(host, repo, run, result)).outcome == "pr-opened"
    assert branches(repo.remote) == {**before, run.branch: result.head}
    for place in (repo.remote, run.repo.mirror):
        assert evil not in git(place, "for-each-ref", "--format=%(objectname)"), place
        assert evil not in git(place, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"), place
    # What the agent left beside its files is kept there under names of its own, and goes nowhere.
    named = git(run.run_dir / "judge.git", "for-each-ref", "--format=%(refname)", "--points-at", evil)
    assert all(name.startswith("refs/agent/") for name in named.split()), named
    assert repo.base_sha in git(run.repo.mirror, "for-each-ref", "--format=%(objectname)")
