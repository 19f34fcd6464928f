"""The run's one commit: exactly what the agent did to the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autopilot.runner.changes import scope_of
from tests.support.clock import NIGHT_START_MS
from tests.support.desks import Desk, make_desk
from tests.support.gitcmd import git, git_bytes
from tests.support.repos import Repo, make_repo

ODD_NAMES = (
    "ä.txt",
    'a"b.txt',
    "tab\tname",
    "new\nline.txt",
    "x -> y.txt",
    " lead",
    "trail ",
    "-rf",
    "*?[x]",
    "世界",
)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


@pytest.fixture
def desk(tmp_path: Path, repo: Repo) -> Desk:
    return make_desk(tmp_path, repo)


def mend(desk: Desk) -> None:
    desk.write({desk.repo.project.broken_path: desk.repo.project.fixed_file()})


@pytest.mark.covers("B22", "A06", "O28")
def test_the_commit_has_the_recorded_identity_the_base_as_parent_and_the_trailer(desk: Desk) -> None:
    mend(desk)
    sha = desk.commit()
    shown = git(desk.judge.place, "show", "-s", "--format=%an|%ae|%cn|%ce|%P|%at|%B", sha).rstrip()
    assert shown == (
        f"Night Shift|night@example.com|Night Shift|night@example.com|{desk.repo.base_sha}"
        f"|{NIGHT_START_MS // 1000}|Mend it\n\nRef: T-1"
    )
    assert git(desk.judge.place, "rev-parse", "autopilot/t-1-x") == sha
    assert (
        git(desk.judge.place, "show", f"{sha}:{desk.repo.project.broken_path}")
        == desk.repo.project.fixed_file().strip()
    )


def test_an_untouched_worktree_is_no_change(desk: Desk) -> None:
    assert not desk.snapshot().is_changed
    os.utime(desk.tree / "README.md")
    assert not desk.snapshot().is_changed


def test_an_edit_of_the_same_size_in_the_same_second_is_seen(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, make_repo(tmp_path / "theirs", extra_files={"answer.txt": "wrong\n"}))
    seen = (desk.tree / "answer.txt").stat()
    desk.write({"answer.txt": "right\n"})
    os.utime(desk.tree / "answer.txt", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert desk.changed() == {"answer.txt": "modified"}


def test_edits_additions_deletions_renames_and_mode_changes_are_all_in_it(desk: Desk) -> None:
    mend(desk)
    desk.write({"deep/er/new.txt": "new\n", "binary": bytes(range(256)) * 8})
    (desk.tree / "pyproject.toml").unlink()
    (desk.tree / "tests/__init__.py").rename(desk.tree / "tests/renamed.py")
    (desk.tree / "bill/__init__.py").chmod(0o755)
    (desk.tree / "README.md").unlink()
    (desk.tree / "README.md").symlink_to("bill")
    changed = desk.changed()
    assert changed["bill/split.py"] == "modified"
    assert changed["deep/er/new.txt"] == "added"
    assert changed["pyproject.toml"] == "deleted"
    assert changed["bill/__init__.py"] == "modified"
    assert changed["README.md"] == "type-changed"


def test_the_scope_has_line_counts_and_none_for_a_binary(desk: Desk) -> None:
    desk.write({"binary": bytes(range(256)), "three.txt": "1\n2\n3\n"})
    scope = {
        line.path: line
        for line in scope_of(desk.host.git, desk.judge.place, base=desk.repo.base_sha, head=desk.commit())
    }
    assert (scope["three.txt"].added_lines, scope["three.txt"].removed_lines) == (3, 0)
    assert (scope["binary"].added_lines, scope["binary"].removed_lines) == (None, None)


@pytest.mark.field_report("GIT-026")
def test_names_of_any_characters_are_committed_and_listed_as_they_are(desk: Desk) -> None:
    desk.write({name: f"content of {name}" for name in ODD_NAMES})
    desk.write({b"caf\xe9".decode("utf-8", "surrogateescape"): "latin"})
    assert desk.changed() == {**dict.fromkeys(ODD_NAMES, "added"), "caf\\xe9": "added"}
    listed = git_bytes(desk.judge.place, "ls-tree", "-r", "-z", "--name-only", "autopilot/t-1-x").split(b"\0")
    assert {os.fsencode(name) for name in ODD_NAMES} <= set(listed)
    assert b"caf\xe9" in listed


@pytest.mark.field_report("GIT-026")
def test_a_rename_between_odd_names_is_one_rename_with_its_new_name(tmp_path: Path) -> None:
    body = "".join(f"line {number}\n" for number in range(50))
    desk = make_desk(tmp_path, make_repo(tmp_path / "theirs", extra_files={"x -> y.txt": body}))
    (desk.tree / "x -> y.txt").rename(desk.tree / "new\nline\t.txt")
    with (desk.tree / "new\nline\t.txt").open("a") as file:
        file.write("API_KEY=not-a-real-one\n")
    [line] = scope_of(desk.host.git, desk.judge.place, base=desk.repo.base_sha, head=desk.commit())
    assert (line.path, line.change, line.added_lines, line.removed_lines) == (
        "new\nline\t.txt",
        "renamed",
        1,
        0,
    )


def test_ignored_files_and_droppings_stay_out_but_tracked_ones_do_not(tmp_path: Path) -> None:
    tracked = {
        ".gitignore": "*.log\n",
        "kept.log": "tracked though ignored\n",
        "node_modules/own.js": "tracked\n",
    }
    desk = make_desk(tmp_path, make_repo(tmp_path / "theirs", extra_files=tracked))
    desk.write(
        {
            "noise.log": "ignored",
            "kept.log": "changed\n",
            "node_modules/own.js": "changed\n",
            "node_modules/dep/index.js": "untracked",
            "bill/__pycache__/split.cpython-311.pyc": b"\x00",
            ".pytest_cache/x": "x",
            ".DS_Store": "x",
            ".aider.chat.history.md": "x",
            "real.txt": "x",
        }
    )
    assert set(desk.changed()) == {"kept.log", "node_modules/own.js", "real.txt"}


@pytest.mark.field_report("GIT-036")
def test_dirt_from_before_the_agent_is_not_the_agents(tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "theirs", extra_files={"Agents.md": "upper\n", "AGENTS.md": "lower\n", "crlf.txt": "a\n"}
    )
    desk = make_desk(tmp_path, repo)
    # What a disk that folds case makes of a checkout of two names that it takes for one.
    (desk.tree / "Agents.md").write_text("lower\n")
    (desk.tree / "crlf.txt").unlink()
    desk = Desk(desk.host, repo, desk.workspace, desk.judge, desk.judge.prepare())
    assert {os.fsdecode(path) for path in desk.pristine.dirt} == {"Agents.md", "crlf.txt"}
    assert not desk.snapshot().is_changed
    mend(desk)
    assert set(desk.changed()) == {"bill/split.py"}
    desk.write({"Agents.md": "by the agent\n"})
    assert set(desk.changed()) == {"bill/split.py", "Agents.md"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_a_problem_with_its_name(desk: Desk) -> None:
    desk.write({"secret": "x"})
    (desk.tree / "secret").chmod(0)
    assert "secret" in desk.snapshot().problems[0]


def test_a_pipe_or_socket_in_the_worktree_does_not_hold_the_judge_up(desk: Desk) -> None:
    mend(desk)
    os.mkfifo(desk.tree / "pipe")
    assert set(desk.changed()) == {"bill/split.py"}


@pytest.mark.parametrize(
    "ends", ["* text=auto\n", "*.py text eol=crlf\n", "*.py working-tree-encoding=UTF-16\n"]
)
def test_line_ends_and_encodings_of_the_repository_are_kept(tmp_path: Path, ends: str) -> None:
    repo = make_repo(tmp_path / "theirs", extra_files={".gitattributes": ends, "win.txt": b"a\r\nb\r\n"})
    desk = make_desk(tmp_path, repo)
    assert not desk.snapshot().is_changed
    desk.write({"README.md": "# changed\n"})
    assert set(desk.changed()) == {"README.md"}


def test_each_round_starts_from_a_repository_that_nobody_touched(desk: Desk) -> None:
    mend(desk)
    first = desk.commit()
    (desk.judge.place / "info" / "attributes").write_text("* filter=x\n")
    (desk.judge.place / "objects" / "info" / "alternates").write_text("/nowhere\n")
    assert desk.commit() == first
