"""Claude Code and Codex in the cell, their models played on loopback: what they may and may not do."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from autopilot.schemas.run import Limits, Outcome
from tests.support.cell_clients import CLAUDE, Client
from tests.support.cell_fixtures import Play, checked_repo, refusals
from tests.support.gitcmd import git
from tests.support.programs import PYTHON_WORD
from tests.support.repos import Repo
from tests.support.runs import events_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs(binary="node", apt="nodejs"),
    pytest.mark.needs(binary="npm", apt="npm"),
    pytest.mark.timeout(300),
]
TICKING = """\
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
while True:
    open(sys.argv[1], "a").write("x")
    time.sleep(0.05)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return checked_repo(tmp_path / "theirs")


@pytest.mark.covers("H01", "H23")
def test_an_edit_in_the_worktree_is_allowed_and_becomes_a_commit(
    real_client: Client, play_real: Play, repo: Repo
) -> None:
    spec, result = play_real(
        repo, real_client.write("notes.md", "right\n"), real_client.shell("cp notes.md answer.txt")
    )
    assert refusals(spec) == []
    assert result.outcome is Outcome.COMMITTED, result.message
    assert result.denials == ()


@pytest.mark.field_report("AGT-038", "AGT-040")
def test_a_push_is_refused_by_the_guard_told_and_never_arrives(
    real_client: Client, play_real: Play, repo: Repo
) -> None:
    before = git(repo.remote, "for-each-ref")
    commands = ["git push origin HEAD", "git push --force origin HEAD:main", "gh pr merge --admin"]
    spec, result = play_real(repo, *map(real_client.shell, commands))
    assert refusals(spec) == [("Bash", command) for command in commands]
    assert (result.outcome, result.code) == (Outcome.NO_CHANGES, "no-changes-tools-refused")
    assert result.denials == tuple(f"Bash({command})" for command in commands)
    assert [(each.by, each.what) for each in result.blocked] == [("guard", each) for each in result.denials]
    assert git(repo.remote, "for-each-ref") == before


@pytest.mark.field_report("AGT-038")
def test_a_program_of_the_repository_cannot_push_or_write_outside_either(
    real_client: Client, play_real: Play, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    lost = (
        f"echo x > {tmp_path}/there/file; echo x > {tmp_path}/state/planted; "
        f"git push --quiet {tmp_path}/open/remote.git HEAD:refs/heads/planted; "
        "git config core.fsmonitor /bin/true\n"
    )
    repo = checked_repo(tmp_path / "open", check=lost)
    spec, _ = play_real(repo, real_client.shell("sh check.sh"))
    assert refusals(spec) == []
    assert list((tmp_path / "there").iterdir()) == []
    assert not (tmp_path / "state" / "planted").exists()
    assert "planted" not in git(repo.remote, "for-each-ref")


def test_a_write_outside_of_the_worktree_is_refused(
    real_client: Client, play_real: Play, repo: Repo, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    spec, result = play_real(
        repo,
        real_client.write(str(outside), "x\n"),
        real_client.shell(f"touch {outside}"),
        real_client.write(".git/hooks/pre-commit", "x\n"),
        real_client.write(".claude/settings.json", "{}\n"),
    )
    assert not outside.exists()
    assert not (spec.worktree / ".claude").exists()
    # Claude Code's own deny rules come before its hooks, and say nothing of it at the end.
    assert len(refusals(spec)) == (2 if real_client is CLAUDE else 4)
    assert set(result.denials) >= {f"{tool}({about})" for tool, about in refusals(spec)}
    assert result.outcome is Outcome.NO_CHANGES


def test_a_host_is_refused_by_the_guard(real_client: Client, play_real: Play, repo: Repo) -> None:
    spec, result = play_real(repo, real_client.shell("curl --silent https://example.invalid/"))
    ((tool, about),) = refusals(spec)
    assert (tool, "example.invalid" in about) == ("Bash", True)
    assert result.outcome is Outcome.NO_CHANGES


def test_a_host_that_a_program_of_the_repository_asks_for_is_refused_and_told(
    real_client: Client, play_real: Play, tmp_path: Path
) -> None:
    ask = "import urllib.request as u; u.urlopen('http://example.invalid/x', timeout=20)"
    check = f'{PYTHON_WORD} -c "{ask}" 2>> "$TMPDIR/said"\n'
    repo = checked_repo(tmp_path / "curious", check=check)
    spec, result = play_real(repo, real_client.shell("sh check.sh"))
    assert [event["host"] for event in events_of(spec, "network.refused")] == ["example.invalid"]
    assert ("network", "GET example.invalid:80") in [(each.by, each.what) for each in result.blocked]
    assert "403" in (spec.run_dir / "tmp" / "said").read_text(encoding="utf-8")


def test_a_process_that_detaches_itself_does_not_outlive_the_run(
    real_client: Client, play_real: Play, tmp_path: Path
) -> None:
    tick = tmp_path / "state" / "worktrees" / "T-1" / "tick"
    starts = f"{PYTHON_WORD} -c '{TICKING}' {tick} </dev/null >/dev/null 2>&1\n"
    repo = checked_repo(tmp_path / "of-a-ticker", check=starts)
    spec, result = play_real(repo, real_client.shell("sh check.sh"))
    assert refusals(spec) == []
    assert result.outcome is not Outcome.COMMITTED
    left = [one.pid for one in psutil.process_iter(["cmdline"]) if str(tick) in (one.info["cmdline"] or ())]
    assert left == []


def test_background_work_is_refused(real_client: Client, play_real: Play, repo: Repo) -> None:
    spec, _ = play_real(repo, real_client.shell("sleep 300 &"))
    assert refusals(spec) == [("Bash", "sleep 300 &")]


@pytest.mark.covers("H20", "H21")
@pytest.mark.field_report("DMN-040")
@pytest.mark.usefixtures("silent_guard")
def test_a_guard_that_falls_silent_blocks(real_client: Client, play_real: Play, repo: Repo) -> None:
    spec, result = play_real(repo, real_client.shell("touch hung"))
    assert not (spec.worktree / "hung").exists()
    assert result.outcome is Outcome.NO_CHANGES


@pytest.mark.covers("H21")
@pytest.mark.field_report("DMN-040")
@pytest.mark.usefixtures("hanging_hook")
def test_a_hook_that_hangs_blocks(real_client: Client, play_real: Play, repo: Repo) -> None:
    silence_s = 40 if real_client is CLAUDE else 12
    limits = Limits(run_ceiling_micro_usd=5_000_000, wall_s=120, silence_s=silence_s, kill_grace_s=1)
    spec, result = play_real(repo, real_client.shell("touch hung"), limits=limits)
    assert not (spec.worktree / "hung").exists()
    # One client gives the hook up and blocks; the other waits for it until the run's own limit.
    ended = Outcome.NO_CHANGES if real_client is CLAUDE else Outcome.TIMED_OUT
    assert result.outcome is ended, result.message
