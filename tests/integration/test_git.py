"""The git funnel with a real git: hardened against the repository, the user and our own environment."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git, GitError
from tests.support.gitcmd import git_binary
from tests.support.repo_traps import (
    HANG,
    leave_lock,
    set_config_commands,
    set_hooks,
    set_signing,
    write_script,
)
from tests.support.repos import Repo, fingerprint, make_repo, write_files

AUTHOR = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
}
NASTY_NAMES = [
    "ä.txt",
    'a"b.txt',
    "tab\tname",
    "new\nline.txt",
    "x -> y.txt",
    "-x",
    " b/c.txt",
    ":(top)*",
    "glob[a].txt",
]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return Git(SystemClock(), tmp_path / "scratch", timeout_s=30, grace_s=1, env=AUTHOR)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


def test_a_command_gives_its_output_as_bytes(git: Git, repo: Repo) -> None:
    assert git.run("rev-parse", "HEAD", cwd=repo.checkout) == repo.base_sha.encode() + b"\n"
    assert git.run("rev-parse", repo.base, git_dir=repo.remote).strip() == repo.base_sha.encode()


def test_a_question_is_answered_by_the_exit_code(git: Git, repo: Repo) -> None:
    assert git.check("show-ref", "--verify", "--quiet", "refs/heads/main", git_dir=repo.remote)
    assert not git.check("show-ref", "--verify", "--quiet", "refs/heads/nope", git_dir=repo.remote)
    with pytest.raises(GitError) as caught:
        git.check("show-ref", "--no-such-option", git_dir=repo.remote)
    assert caught.value.git_exit_code == 129


@pytest.mark.field_report("GIT-026")
def test_names_of_any_bytes_come_back_unquoted(git: Git, repo: Repo) -> None:
    # Field report GIT-026.
    write_files(repo.checkout, dict.fromkeys(NASTY_NAMES, "x"))
    git.run("add", "-A", cwd=repo.checkout)
    staged = git.lines_z("diff", "--cached", "--name-only", "--no-renames", "-z", cwd=repo.checkout)
    assert sorted(staged) == sorted(name.encode() for name in NASTY_NAMES)
    assert git.lines_z("diff", "--cached", "--name-only", "-z", "--", "absent", cwd=repo.checkout) == []


def test_a_path_is_a_name_and_never_a_pattern(git: Git, repo: Repo) -> None:
    write_files(repo.checkout, {"glob[a].txt": "x", "globa.txt": "x", ":(top)*": "x"})
    git.run("add", "--", "glob[a].txt", ":(top)*", cwd=repo.checkout)
    staged = git.lines_z("diff", "--cached", "--name-only", "-z", cwd=repo.checkout)
    assert sorted(staged) == [b":(top)*", b"glob[a].txt"]


@pytest.mark.field_report("VER-002")
def test_our_own_git_variables_never_reach_git(
    git: Git, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Field report VER-002: a daemon started from a hook carried GIT_DIR and wrote into the user's repository.
    before = fingerprint(repo.checkout)
    raw = {path: path.read_bytes() for path in (repo.checkout / ".git").rglob("*") if path.is_file()}
    user = repo.checkout / ".git"
    for name, value in {
        "GIT_DIR": user,
        "GIT_INDEX_FILE": user / "index",
        "GIT_WORK_TREE": repo.checkout,
        "GIT_OBJECT_DIRECTORY": user / "objects",
        "GIT_COMMON_DIR": user,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_EXTERNAL_DIFF": "/bin/false",
        "GIT_SSH_COMMAND": "/bin/false",
    }.items():
        monkeypatch.setenv(name, str(value))
    other = tmp_path / "other"
    git.run("init", "-q", str(other))
    write_files(other, {"a.txt": "a"})
    git.run("add", "-A", cwd=other)
    git.run("commit", "-q", "-m", "x", cwd=other)
    assert git.run("ls-files", cwd=other) == b"a.txt\n"
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    assert fingerprint(repo.checkout) == before
    assert {path: path.read_bytes() for path in user.rglob("*") if path.is_file()} == raw


@pytest.mark.field_report("GIT-017")
def test_no_hook_runs_whatever_the_command(git: Git, repo: Repo, tmp_path: Path) -> None:
    # Field report GIT-017.
    trap = set_hooks(repo.checkout, tmp_path / "mark", then=HANG)
    write_files(repo.checkout, {"new.txt": "x"})
    git.run("worktree", "add", "--no-track", "-q", "-b", "side", str(tmp_path / "w"), cwd=repo.checkout)
    git.run("add", "-A", cwd=repo.checkout)
    git.run("commit", "-q", "-m", "x", cwd=repo.checkout)
    git.run("push", "-q", repo.url, "HEAD:refs/heads/x", cwd=repo.checkout)
    assert trap.sprung() == ()


@pytest.mark.field_report("GIT-016")
def test_no_commit_is_signed_and_no_passphrase_is_waited_for(git: Git, repo: Repo, tmp_path: Path) -> None:
    # Field report GIT-016.
    trap = set_signing(repo.checkout, tmp_path / "mark")
    git.run("commit", "-q", "--allow-empty", "-m", "x", cwd=repo.checkout)
    git.run("tag", "-a", "-m", "x", "v1", cwd=repo.checkout)
    assert trap.sprung() == ()


def test_looking_at_a_repository_runs_none_of_its_programs(git: Git, repo: Repo, tmp_path: Path) -> None:
    trap = set_config_commands(repo.checkout, tmp_path / "mark")
    for args in (
        ("status", "--porcelain=v2", "-z"),
        ("rev-parse", "HEAD"),
        ("remote", "get-url", "origin"),
        ("log", "-1", "--format=%H"),
        ("fetch", "-q", repo.url),
        ("ls-remote", "--symref", repo.url, "HEAD"),
    ):
        git.run(*args, cwd=repo.checkout)
    assert trap.sprung() == ()


def test_the_users_configuration_is_not_read(
    git: Git, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    write_files(
        home, {".gitconfig": '[url "file:///nowhere/"]\n\tinsteadOf = file:///\n[core]\n\tbare = true\n'}
    )
    monkeypatch.setenv("HOME", str(home))
    assert git.run("ls-remote", f"file://{repo.remote}", "refs/heads/main")
    theirs = Git(SystemClock(), tmp_path / "scratch", timeout_s=30, user_config=True)
    with pytest.raises(GitError) as caught:
        theirs.run("ls-remote", f"file://{repo.remote}", "refs/heads/main")
    assert caught.value.code == "git-no-repo"


def test_with_the_users_configuration_their_hooks_and_signing_stay_off(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap_script = write_script(
        tmp_path / "hooks" / "reference-transaction", f'echo x >> "{tmp_path}/mark"; exit 1'
    )
    write_files(
        tmp_path, {".gitconfig": f"[core]\n\thooksPath = {trap_script.parent}\n\tfsmonitor = {trap_script}\n"}
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    theirs = Git(SystemClock(), tmp_path / "scratch", timeout_s=30, user_config=True)
    theirs.run("fetch", "-q", repo.url, "+refs/heads/main:refs/x/main", git_dir=repo.checkout / ".git")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("rev-parse", "--verify", "nope"), "git-no-ref"),
        (("fetch", "/no/such/repository"), "git-no-repo"),
        (("fetch", "http://127.0.0.1:1/x.git"), "git-network"),
        (("fetch", "ext::sh -c touch% owned"), "git-protocol"),
        (("cat-file", "-p", "0" * 39 + "1"), "git-no-ref"),
        (("branch", "main"), "git-ref-conflict"),
        (("no-such-command",), "git-failed"),
    ],
)
def test_a_failure_has_a_code(git: Git, repo: Repo, args: tuple[str, ...], code: str) -> None:
    with pytest.raises(GitError) as caught:
        git.run(*args, cwd=repo.checkout)
    assert caught.value.code == code, caught.value.stderr_tail


def test_outside_of_a_repository_none_is_found_above(git: Git, repo: Repo) -> None:
    inside = Git(SystemClock(), repo.checkout / "scratch", timeout_s=30)
    with pytest.raises(GitError) as caught:
        inside.run("rev-parse", "HEAD")
    assert caught.value.code == "git-no-repo"


def test_a_held_lock_is_waited_for(git: Git, repo: Repo, tmp_path: Path) -> None:
    lock = leave_lock(repo.checkout / ".git" / "index.lock")
    write_files(repo.checkout, {"new.txt": "x"})
    tries = tmp_path / "tries"
    frees_at_third = (
        f'echo x >> "{tries}"; [ $(wc -l < "{tries}") = 3 ] && rm "{lock}"; exec {git_binary()} "$@"'
    )
    wrapper = write_script(tmp_path / "bin" / "git", frees_at_third)
    watched = replace(git, base={"PATH": str(wrapper.parent)})
    assert watched.run("add", "-A", cwd=repo.checkout) == b""
    assert tries.read_text() == "x\n" * 3


def test_a_lock_that_stays_is_named_after_a_bounded_number_of_tries(git: Git, repo: Repo) -> None:
    lock = leave_lock(repo.checkout / ".git" / "index.lock")
    with pytest.raises(GitError, match=r"index\.lock") as caught:
        git.run("add", "-A", cwd=repo.checkout)
    assert (caught.value.code, caught.value.is_transient, lock.exists()) == ("git-lock", True, True)


def test_a_git_that_hangs_is_stopped_and_so_is_what_it_started(repo: Repo, tmp_path: Path) -> None:
    hasty = Git(SystemClock(), tmp_path / "scratch", timeout_s=0.2, grace_s=0.1)
    with pytest.raises(GitError) as caught:
        hasty.run("-c", "alias.hang=!sleep 600", "hang", cwd=repo.checkout)
    assert caught.value.code == "git-timeout"


def test_a_git_that_is_stopped_or_killed_is_told_apart(git: Git, repo: Repo) -> None:
    stopped = replace(git, should_stop=lambda: "shutdown")
    with pytest.raises(GitError, match="was stopped: shutdown") as caught:
        stopped.run("-c", "alias.hang=!sleep 600", "hang", cwd=repo.checkout)
    assert (caught.value.code, caught.value.is_transient) == ("git-stopped", True)
    with pytest.raises(GitError, match="killed by signal 9") as caught:
        git.run("-c", "alias.die=!kill -9 $PPID", "die", cwd=repo.checkout)
    assert caught.value.code == "git-killed"


def test_a_missing_git_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autopilot.config.environ._USUAL_FOLDERS", ())
    with pytest.raises(GitError) as caught:
        Git(SystemClock(), tmp_path / "scratch", base={"PATH": "/nowhere"}).run("--version")
    assert (caught.value.code, "/nowhere" in caught.value.what) == ("git-missing", True)


def test_a_secret_header_stays_out_of_the_command_line(git: Git, repo: Repo, tmp_path: Path) -> None:
    header = {"http.https://x.invalid/.extraHeader": "Authorization: Basic Zm9v"}
    alias = (
        f"alias.peek=!tr '\\0' '\\n' < /proc/$PPID/cmdline > {tmp_path}/argv; git config --get-all "
        + next(iter(header))
    )
    if Path("/proc/self/cmdline").exists():
        assert (
            git.run("-c", alias, "peek", cwd=repo.checkout, config=header) == b"Authorization: Basic Zm9v\n"
        )
        assert "Authorization" not in (tmp_path / "argv").read_text()


def test_configuration_for_one_call_is_passed_on(git: Git, repo: Repo) -> None:
    assert git.run("config", "core.x", cwd=repo.checkout, config={"core.x": "a b=c"}) == b"a b=c\n"


def test_standard_input_and_identity_reach_git(git: Git, repo: Repo) -> None:
    blob = git.run("hash-object", "-w", "--stdin", git_dir=repo.remote, stdin=b"\0\xff").strip().decode()
    assert git.run("cat-file", "blob", blob, git_dir=repo.remote) == b"\0\xff"
    tree = git.run("rev-parse", "main^{tree}", git_dir=repo.remote).strip().decode()
    commit = git.run("commit-tree", tree, git_dir=repo.remote, stdin=b"text", env={"GIT_AUTHOR_NAME": "Bö"})
    shown = git.run("cat-file", "commit", commit.strip().decode(), git_dir=repo.remote).decode()
    assert "author Bö <a@example.invalid>" in shown


def test_nothing_is_left_in_the_scratch_folder(git: Git, repo: Repo) -> None:
    git.run("status", cwd=repo.checkout)
    assert [path.name for path in git.scratch.iterdir()] == ["home"]
    assert list((git.scratch / "home").iterdir()) == []


@pytest.mark.field_report("GIT-025")
@pytest.mark.parametrize("user_config", [False, True], ids=["isolated", "the-users"])
def test_git_025_no_git_of_ours_maintains_anything_by_itself(
    tmp_path: Path, git: Git, repo: Repo, *, user_config: bool
) -> None:
    """GIT-025: a maintenance that outlived its fetch took its lock away while the tree was being copied."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n")
    for key, value in (("gc.auto", "1"), ("maintenance.auto", "true")):
        git.run("config", key, value, git_dir=repo.remote)
    ours = replace(git, user_config=user_config, base={**os.environ, "HOME": str(home)})
    for key, said in (("gc.auto", b"0"), ("maintenance.auto", b"false")):
        assert ours.run("config", "--get", key, git_dir=repo.remote).strip() == said
