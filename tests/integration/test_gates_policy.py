from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from autopilot.runner.policy import read_policy
from autopilot.runner.stacks.tree import Tree
from autopilot.schemas.errors import ConfigError
from tests.support.gate_runs import bench
from tests.support.gitcmd import git
from tests.support.repos import commit_files, init_bare


def our_git(tmp_path: Path) -> Git:
    return Git(SystemClock(), scratch=tmp_path / "scratch")


def fault(tmp_path: Path, text: str | bytes) -> tuple[ConfigError, str]:
    repository = init_bare(tmp_path / "r.git")
    sha = commit_files(repository, "main", {".autopilot.toml": text})
    with pytest.raises(ConfigError) as caught:
        read_policy(our_git(tmp_path), repository, sha)
    return caught.value, sha


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("stak = 'python'\n", "no key stak", "did you mean stack?"),
        ("[commands]\nbiuld = ['x']\n", "no key commands.biuld", "did you mean build?"),
        ("[comands]\n", "no key comands", "did you mean commands?"),
        ("zzz = 1\n", "no key zzz", "known keys: stack, commands, report, lfs"),
        ("[commands]\ntest = 'pytest -q'\n", "commands.test", ""),
        ("[commands]\ntest = []\n", "commands.test", ""),
        ("[commands]\ntest = [1]\n", "commands.test.0", ""),
        ('[commands]\ntest = ["a\\u0000b"]\n', "commands.test.0", ""),
        ("lfs = 'maybe'\n", "lfs", ""),
        ("stack = 3\n", "stack", ""),
    ],
)
def test_a_policy_that_means_nothing_names_file_commit_key_and_the_nearest_key(
    tmp_path: Path, text: str, words: str, hint: str
) -> None:
    error, sha = fault(tmp_path, text)
    assert error.code == "policy-invalid"
    assert error.what.startswith(f".autopilot.toml@{sha[:12]}: ")
    assert words in error.what
    assert hint in error.hint


@pytest.mark.parametrize(
    "text",
    ["stack = ", "[commands", b"\xff\xfe", "\x00", "a = 1\na = 2\n", "x" * 1_100_000, "a = " + "[" * 50_000],
)
def test_a_policy_that_cannot_be_read_is_refused_and_not_taken_for_none(
    tmp_path: Path, text: str | bytes
) -> None:
    error, sha = fault(tmp_path, text)
    assert error.code == "policy-unreadable"
    assert f".autopilot.toml@{sha[:12]}" in error.what


def test_a_policy_that_is_a_link_is_refused(tmp_path: Path) -> None:
    repository = init_bare(tmp_path / "r.git")
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=b"other.toml")
    tree = git(repository, "mktree", stdin=f"120000 blob {blob}\t.autopilot.toml\n".encode())
    sha = git(repository, "commit-tree", tree, "-m", "x")
    with pytest.raises(ConfigError, match="no plain file"):
        read_policy(our_git(tmp_path), repository, sha)


def test_the_policy_is_that_of_the_base_and_never_of_the_branch_or_the_worktree(tmp_path: Path) -> None:
    base = {".autopilot.toml": "stack = 'python'\n", "a.py": ""}
    there = bench(tmp_path, {**base, ".autopilot.toml": "stack = 'unknown'\n"}, base=base)
    (there.checkout / ".autopilot.toml").write_text("stack = 'backend-node'\n", encoding="utf-8")
    assert read_policy(there.git(), there.repository, there.base_sha).stack == "python"
    assert read_policy(there.git(), there.repository, there.head_sha).stack == "unknown"


def test_the_words_of_a_command_are_kept_as_they_are(tmp_path: Path) -> None:
    there = bench(tmp_path, {".autopilot.toml": '[commands]\ntest = ["grep", " a ", ""]\n', "a.py": ""})
    policy = read_policy(there.git(), there.repository, there.base_sha)
    assert policy.commands.test == ("grep", " a ", "")


def test_a_base_without_a_policy_has_an_empty_one(tmp_path: Path) -> None:
    there = bench(tmp_path, {"a.py": ""})
    policy = read_policy(there.git(), there.repository, there.base_sha)
    assert (policy.stack, policy.commands.test, policy.report, policy.lfs) == (None, None, None, "require")


def test_a_tree_gives_names_and_contents_as_they_are(tmp_path: Path) -> None:
    names = {
        "a b": b"1",
        "-x": b"2",
        "q\"'": b"3",
        "line\nend": b"4",
        "\u00e9/\udcff": b"5\n\x00",
        "empty": b"",
    }
    repository = init_bare(tmp_path / "r.git")
    sha = commit_files(repository, "main", names)
    tree = Tree.at(our_git(tmp_path), repository, sha)
    assert set(tree.blobs) == set(names)
    assert tree.read_many([*names, "absent"]) == names
    assert tree.read("absent") is None


def test_a_tree_of_a_commit_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    repository = init_bare(tmp_path / "r.git")
    from autopilot.config.git import GitError

    with pytest.raises(GitError):
        Tree.at(our_git(tmp_path), repository, "0" * 40)
