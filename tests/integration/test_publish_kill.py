"""A publisher that is killed at any moment leaves something that the next one finishes: one pull request."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fixtures import MakeForge
from tests.support.github_publication import github_publication, publish
from tests.support.publication import BRANCH, Publication, local_publication
from tests.support.publisher import (
    branches,
    local_pull_requests,
    publisher_environment,
    read_events,
    read_verdict,
    run_publisher,
)
from tests.support.repo_traps import write_script
from tests.support.tree import ROOT
from tests.support.wait import wait_until

CHECKS = 10
LINES = (
    "publish.started",
    *("publish.checked",) * CHECKS,
    "publish.pushed",
    "publish.pr_opened",
    "publish.finished",
)
MOMENTS = [
    (0, "after"),
    (3, "after"),
    (CHECKS - 1, "before"),
    (CHECKS, "after"),
    *((CHECKS + line, when) for line in (1, 2, 3) for when in ("before", "after")),
]


def kill_at(publication: Publication, line: int, when: str, **extra: str) -> None:
    """Run a publisher that is killed right before or right after a progress line."""
    program = ROOT / "tests" / "support" / "dying_publisher.py"
    died = subprocess.run(
        [sys.executable, "-P", str(program), str(publication.write()), str(line), when],
        cwd=publication.root,
        env=publisher_environment(publication.root / "home", **extra),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stdout + died.stderr
    assert len(read_events(publication)) == line + (when == "after")


@pytest.mark.covers("N42")
@pytest.mark.parametrize(("line", "when"), MOMENTS)
def test_a_kill_at_a_progress_line_ends_with_one_draft_on_the_embedded_forge(
    tmp_path: Path, line: int, when: str
) -> None:
    publication = local_publication(tmp_path)
    kill_at(publication, line, when)
    done = run_publisher(publication)
    assert done.verdict["outcome"] == "pr-opened"
    assert [draft["head"] for draft in local_pull_requests(publication)] == [publication.head]
    assert branches(publication.remote)[BRANCH] == publication.head
    assert [path.name for path in (publication.folder / "work").iterdir()] == [".lock"]


@pytest.mark.covers("N42")
@pytest.mark.parametrize(("line", "when"), MOMENTS[3:-1])
def test_a_kill_at_a_progress_line_ends_with_one_draft_over_githubs_protocol(
    make_forge: MakeForge, tmp_path: Path, line: int, when: str
) -> None:
    forge = make_forge()
    publication = github_publication(forge, tmp_path)
    kill_at(publication, line, when, AUTOPILOT_SECRET_FORGE_TOKEN=forge.token)
    done = publish(publication, forge)
    assert done.verdict["outcome"] == "pr-opened"
    assert [(pull.sha, pull.draft) for pull in forge.pulls.all("o/r")] == [(publication.head, True)]
    assert len(forge.requests("POST /repos/o/r/pulls")) == 1


def test_the_moments_cover_every_kind_of_line_that_there_is(tmp_path: Path) -> None:
    done = run_publisher(local_publication(tmp_path))
    assert tuple(line["event"] for line in done.events) == LINES
    assert {LINES[line] for line, _ in MOMENTS} == set(LINES)


@pytest.mark.parametrize("hook", ["pre-receive", "post-receive"])
def test_a_kill_in_the_middle_of_the_push_ends_with_one_draft(tmp_path: Path, hook: str) -> None:
    publication = local_publication(tmp_path)
    pid_file, seen = tmp_path / "pid", tmp_path / "seen"
    kill_once = f"[ -e {seen} ] || {{ touch {seen}; kill -9 $(cat {pid_file}); }}"
    write_script(publication.remote / "hooks" / hook, kill_once)
    dying = subprocess.Popen(
        [sys.executable, "-P", "-m", "autopilot.publish", str(publication.write())],
        cwd=tmp_path,
        env=publisher_environment(tmp_path / "home"),
    )
    pid_file.write_text(str(dying.pid))
    assert dying.wait(60) == -signal.SIGKILL
    assert seen.exists()
    wait_until(lambda: BRANCH in branches(publication.remote), 20, "the orphaned push has arrived")
    done = run_publisher(publication)
    assert done.verdict["outcome"] == "pr-opened"
    assert [draft["head"] for draft in local_pull_requests(publication)] == [publication.head]


def test_a_publisher_that_is_told_to_stop_says_so_and_cleans_up(tmp_path: Path) -> None:
    publication = local_publication(tmp_path)
    entered = tmp_path / "entered"
    os.mkfifo(tmp_path / "never")
    write_script(
        publication.remote / "hooks" / "pre-receive", f"touch {entered}\nread -r line < {tmp_path / 'never'}"
    )
    stopping = subprocess.Popen(
        [sys.executable, "-P", "-m", "autopilot.publish", str(publication.write())],
        cwd=tmp_path,
        env=publisher_environment(tmp_path / "home"),
    )
    wait_until(entered.exists, 60, "the push is under way")
    stopping.terminate()
    assert stopping.wait(60) == 0
    verdict = read_verdict(publication)
    assert (verdict["outcome"], verdict["code"]) == ("publish-deferred", "stopped")
    assert verdict["retry_after_s"] == 0
    assert [path.name for path in (publication.folder / "work").iterdir()] == [".lock"]
    (publication.remote / "hooks" / "pre-receive").unlink()
    assert run_publisher(publication).verdict["outcome"] == "pr-opened"
