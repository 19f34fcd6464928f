"""The fake agents do what their names say."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import agents, git_agents
from tests.support.agents import Agent
from tests.support.gitcmd import git, git_environment
from tests.support.repos import Repo, make_repo
from tests.support.wait import wait_until


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    return tmp_path / "agents"


def run(agent: Agent, cwd: Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [agent.path],
        cwd=cwd,
        env=git_environment(run_hooks=True),
        input=stdin or b"",
        capture_output=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def test_the_honest_agent_mends_the_file(repo: Repo, bin_folder: Path) -> None:
    done = run(agents.mends(bin_folder, repo.project), repo.checkout)
    assert (done.returncode, done.stdout.decode()) == (0, agents.RESULT_LINE + "\n")
    assert (repo.checkout / repo.project.broken_path).read_text() == repo.project.fixed_file()


def test_the_idle_the_silent_and_the_dying_agent_differ_in_how_they_end(repo: Repo, bin_folder: Path) -> None:
    idle = run(agents.does_nothing(bin_folder), repo.checkout)
    silent = run(agents.fails_silently(bin_folder), repo.checkout)
    dead = run(agents.dies(bin_folder), repo.checkout)
    assert (idle.returncode, silent.returncode, dead.returncode) == (0, 1, -signal.SIGKILL)
    assert silent.stdout + silent.stderr == b""
    assert git(repo.checkout, "status", "--porcelain") == "?? half.txt"


def test_a_question_is_one_json_line(repo: Repo, bin_folder: Path) -> None:
    done = run(agents.asks(bin_folder, 'Which "base"?'), repo.checkout)
    assert done.stdout == b'{"type": "question", "text": "Which \\"base\\"?"}\n'


def test_an_agent_that_ignores_term_dies_only_of_kill(
    repo: Repo, bin_folder: Path, running: list[subprocess.Popen[bytes]]
) -> None:
    agent = agents.ignores_term(bin_folder)
    process = subprocess.Popen([agent.path], cwd=repo.checkout, stdout=subprocess.PIPE)
    running.append(process)
    wait_until(agent.noted_pids, 20, "the agent notes its pid")
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)
    assert agent.living() == [process.pid]
    agent.end_leftovers()
    assert process.wait(timeout=20) == -signal.SIGKILL
    assert agent.living() == []


def test_a_grandchild_outlives_its_agent_in_a_session_of_its_own(repo: Repo, bin_folder: Path) -> None:
    agent = agents.leaves_grandchild(bin_folder)
    done = run(agent, repo.checkout)
    assert (done.returncode, done.stdout) == (0, b"child left behind\n")
    assert len(agent.living()) == 1
    agent.end_leftovers()
    wait_until(lambda: not agent.living(), 20, "the grandchild is gone")


def test_a_flood_ends_with_the_result_line(repo: Repo, bin_folder: Path) -> None:
    lines = run(agents.floods(bin_folder, size_bytes=agents.MIB), repo.checkout).stdout
    assert (len(lines) > agents.MIB, lines.count(b"\n")) == (True, 1024 + 2)
    one = run(agents.floods(bin_folder, size_bytes=agents.MIB, newlines=False), repo.checkout).stdout
    endless, _, result = one.partition(b"\n")
    assert (len(endless), result.decode().strip()) == (agents.MIB, agents.RESULT_LINE)


def test_garbled_bytes_and_halved_characters_come_as_written(repo: Repo, bin_folder: Path) -> None:
    garbled = run(agents.garbles(bin_folder), repo.checkout)
    with pytest.raises(UnicodeDecodeError):
        garbled.stderr.decode()
    halved = run(agents.halves_characters(bin_folder), repo.checkout)
    assert halved.stdout == halved.stderr
    assert halved.stdout.decode().splitlines()[-1] == "ünï-49-🚀"


def test_a_prompting_agent_gives_up_when_stdin_is_closed(repo: Repo, bin_folder: Path) -> None:
    agent = agents.waits_for_prompt(bin_folder)
    assert run(agent, repo.checkout).returncode == 4
    assert agent.notes() == ["stdin", "answer b''"]
    assert run(agent, repo.checkout, b"y\n").returncode == 0


def test_a_slow_speaker_says_one_line_at_once(
    repo: Repo, bin_folder: Path, running: list[subprocess.Popen[bytes]]
) -> None:
    agent = agents.speaks_rarely(bin_folder)
    process = subprocess.Popen([agent.path], cwd=repo.checkout, stdout=subprocess.PIPE)
    running.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"still at it\n"
    assert process.poll() is None


def test_an_agent_can_commit_itself_with_an_attribution(repo: Repo, bin_folder: Path) -> None:
    run(git_agents.commits_itself(bin_folder, repo.project), repo.checkout)
    assert git_agents.ATTRIBUTION in git(repo.checkout, "log", "-1", "--format=%B")


def test_an_agent_can_leave_two_commits_on_a_detached_head(repo: Repo, bin_folder: Path) -> None:
    agent = git_agents.detaches_and_commits_twice(bin_folder, repo.project)
    run(agent, repo.checkout)
    first, second = agent.notes()
    assert git(repo.checkout, "rev-parse", "HEAD", "HEAD^") == f"{second}\n{first}"
    assert git(repo.checkout, "rev-parse", repo.base) == repo.base_sha


def test_an_agent_can_make_the_shared_repository_look_bare(repo: Repo, bin_folder: Path) -> None:
    git(repo.checkout, "worktree", "add", "-q", "-b", "t", "../worktree")
    run(git_agents.reinitialises(bin_folder, repo.project), repo.checkout.parent / "worktree")
    assert git(repo.checkout, "config", "core.bare") == "true"


def test_planted_commands_run_with_the_next_careless_git(repo: Repo, bin_folder: Path) -> None:
    agent = git_agents.plants_commands(bin_folder, repo.project)
    run(agent, repo.checkout)
    before = agent.notes().count("planted")
    git(repo.checkout, "status", extra_env={"GIT_CONFIG_COUNT": "0"})
    assert agent.notes().count("planted") > before


def test_an_agent_can_nest_a_repository_or_remove_its_folder(repo: Repo, bin_folder: Path) -> None:
    nest = git_agents.nests_repository(bin_folder)
    run(nest, repo.checkout)
    assert nest.notes() == ["0"]
    assert (repo.checkout / "vendored" / ".git").is_dir()
    run(git_agents.deletes_its_folder(bin_folder), repo.checkout)
    assert not repo.checkout.exists()


def test_an_agent_can_make_the_store_shallow(repo: Repo, bin_folder: Path) -> None:
    agent = git_agents.makes_shallow(bin_folder)
    run(agent, repo.checkout)
    assert agent.notes() == ["0"]
