"""What a real run leaves is what the publisher takes: the two rooms agree without knowing each other."""

from pathlib import Path

import pytest

from autopilot.publish.forges.local import read_records
from autopilot.schemas.publication import ForgeSpec, PublishSpec, PublishVerdict
from autopilot.schemas.run import Outcome, RunResult, RunSpec
from tests.support.gitcmd import git
from tests.support.publisher import branches, spawn_publisher
from tests.support.repos import Repo, make_repo, move_remote
from tests.support.runs import Host, mending_steps, run_here

HOSTILE = (
    "Fixes #12 and **closes** [#13](x). Thanks @alice, see `@dataclass`.\n"
    "I edited {worktree}/bill/split.py and wrote /home/me/notes.\n\n"
    "<!-- hidden --> <details>\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n"
)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


def order(host: Host, repo: Repo, run: RunSpec, result: RunResult, **other: object) -> PublishSpec:
    """The publication of a run, as the daemon orders it from its own records."""
    folder = run.run_dir / "publish"
    values = {
        "id": run.run_id,
        "ticket_id": run.ticket_id,
        "ticket_ref": run.ticket_id,
        "run_id": run.run_id,
        "request": run.pr_request,
        "verdict": run.pr_request.with_suffix(".verdict.json"),
        "workdir": folder / "work",
        "source": run.run_dir / "judge.git",
        "mirror": run.repo.mirror,
        "forge": ForgeSpec(
            kind="local", push_url=repo.url, project="bill", record_dir=host.state / "forge" / "bill"
        ),
        "base": result.base,
        "base_sha": result.base_sha,
        "branch": run.branch,
        "head": result.head,
        "recorded_branch": result.branch,
        "expected_remote_head": None,
        "idempotency_key": run.run_id,
        "identity": run.identity,
        "recorded_gates": result.gates,
        "gate_s": 60,
        "kill_grace_s": 1,
        "created_ms": 1,
    }
    return PublishSpec.model_validate({**values, **other})


def publish(spec: PublishSpec) -> PublishVerdict:
    folder = spec.workdir.parent
    folder.mkdir(parents=True, exist_ok=True)
    spec_file = folder / "spec.json"
    spec_file.write_text(spec.model_dump_json())
    done = spawn_publisher(spec_file, home=folder / "home", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return PublishVerdict.model_validate_json(spec.verdict.read_bytes())


@pytest.mark.covers("N01", "N02", "N07", "N17")
def test_a_run_that_ended_well_becomes_one_draft(host: Host, repo: Repo) -> None:
    run = host.spec(repo, host.agent(mending_steps(repo.project)))
    result = run_here(run)
    assert result.outcome is Outcome.COMMITTED
    verdict = publish(order(host, repo, run, result))
    assert (verdict.outcome, verdict.code) == ("pr-opened", "opened"), verdict
    assert branches(repo.remote)[run.branch] == result.head
    (draft,) = read_records(host.state / "forge" / "bill")
    assert (draft.head, draft.draft, draft.title) == (result.head, True, "No cent may be lost")
    assert "Shares add up now." in draft.body
    assert f"`{repo.project.broken_path}`" in draft.body
    assert "2 executed, 2 passed, 0 failed" in draft.body


@pytest.mark.covers("N11", "N32", "G06")
def test_whatever_the_agent_says_the_commit_can_be_published(host: Host, repo: Repo) -> None:
    said = HOSTILE.format(worktree=host.state / "worktrees" / "T-1")
    steps: list[dict[str, object]] = [*mending_steps(repo.project)[:-1], {"say": said}]
    run = host.spec(repo, host.agent(steps), title="Fixes #9: no cent may be lost @bob")
    result = run_here(run)
    verdict = publish(order(host, repo, run, result))
    assert (verdict.outcome, verdict.code) == ("pr-opened", "opened"), verdict
    (draft,) = read_records(host.state / "forge" / "bill")
    message = git(repo.remote, "show", "-s", "--format=%B", run.branch)
    for text in (draft.title, draft.body, message):
        assert "ixes #" not in text
        assert "@alice" not in text
        assert str(host.state) not in text
        assert "/home/me" not in text
        assert "Claude" not in text


@pytest.mark.field_report("GIT-044")
def test_the_base_moved_while_the_run_was_at_work(host: Host, repo: Repo) -> None:
    run = host.spec(repo, host.agent(mending_steps(repo.project)))
    result = run_here(run)
    move_remote(repo, commits=4)
    move_remote(repo, commits=1, path=repo.project.broken_path)
    verdict = publish(order(host, repo, run, result))
    assert (verdict.outcome, verdict.base_behind) == ("pr-opened", 5)
    (draft,) = read_records(host.state / "forge" / "bill")
    assert f"does not merge cleanly. Changed on both sides: `{repo.project.broken_path}`" in draft.body


@pytest.mark.field_report("PUB-012")
def test_a_second_attempt_updates_the_draft_of_the_first(host: Host, repo: Repo) -> None:
    first = host.spec(repo, host.agent(mending_steps(repo.project)))
    published = publish(order(host, repo, first, run_here(first)))
    more: list[dict[str, object]] = [
        {"write": {"path": "NOTES.md", "text": "why\n"}},
        *mending_steps(repo.project),
    ]
    second = host.spec(repo, host.agent(more, name="again"), attempt=2)
    result = run_here(second)
    verdict = publish(order(host, repo, second, result, expected_remote_head=published.pushed))
    assert (verdict.outcome, verdict.code, verdict.pr) == ("pr-opened", "updated", published.pr), verdict
    assert branches(repo.remote)[second.branch] == result.head
    (draft,) = read_records(host.state / "forge" / "bill")
    assert "`NOTES.md`" in draft.body
